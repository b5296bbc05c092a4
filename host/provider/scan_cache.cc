#include "host/provider/scan_cache.h"

#include "host/config/read.h"
#include "host/config/text.h"
#include "host/provider/open_file.h"
#include "host/provider/scan_read.h"
#include "host/provider/state_folder.h"
#include "tenon/ep.h"

namespace tenon::provider {
namespace {

std::string identity_text(const std::string& path) {
  Result<FileIdentity> identity = identity_of(path);
  return str_cat(path, "=", identity ? identity->to_string() : std::string("absent"), ";");
}

// Drivers and devices change with a boot more often than within one.
std::string boot_id() {
  Result<std::unique_ptr<OpenFile>> file = OpenFile::open("/proc/sys/kernel/random/boot_id");
  char text[36];
  return file && (*file)->read(0, text, sizeof text) ? std::string(text, sizeof text) : std::string();
}

}  // namespace

std::string ScanCache::key_of(const ScanRequest& request) {
  std::string key = identity_text(request.file) + identity_text(request.helper);
  for (const ManifestFile& file : request.manifest->files)
    key += identity_text(request.manifest->path_of(file));
  for (const std::string& path : request.manifest->required_files) key += identity_text(path);
  for (const std::string& name : request.manifest->required_sonames) key += name + ";";
  key += str_cat(request.manifest->id, " ", request.manifest->version.to_string(), ";");
  return key + str_cat("abi=", TENON_EP_ABI_MAJOR, ".", TENON_EP_ABI_MINOR, ";boot=", boot_id());
}

std::string ScanCache::path_of(const std::string& key) const {
  return folder_ + "/scan/" + sha256_of(key) + ".txt";
}

std::optional<ScanAnswer> ScanCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  Result<std::string> text = config::read_text_file(path_of(key), kMaxVerdictBytes);
  if (!text) return std::nullopt;
  size_t line = text->find('\n');
  if (line == std::string::npos || text->compare(0, line, key) != 0) return std::nullopt;
  std::optional<ScanVerdict> verdict = read_verdict(std::string_view(*text).substr(line + 1));
  if (!verdict || verdict->refusal != Refusal::kNone) return std::nullopt;
  return ScanAnswer{std::move(verdict->build_id), std::move(verdict->devices)};
}

void ScanCache::keep(const std::string& key, const ScanAnswer& answer) const {
  if (folder_.empty() || key.find('\n') != std::string::npos) return;
  ScanVerdict verdict;
  verdict.build_id = answer.build_id;
  verdict.devices = answer.devices;
  Status ignored = write_atomically(path_of(key), key + "\n" + write_verdict(verdict) + "\n");
  (void)ignored;
}

}  // namespace tenon::provider
