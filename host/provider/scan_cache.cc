#include "host/provider/scan_cache.h"

#include <map>
#include <mutex>
#include <vector>

#include "host/base/environment.h"
#include "host/base/fork.h"
#include "host/base/sha256.h"
#include "host/base/state_folder.h"
#include "host/base/text.h"
#include "host/base/text_file.h"
#include "host/config/read.h"
#include "host/provider/machine.h"
#include "host/provider/open_file.h"
#include "host/provider/scan_read.h"
#include "tenon/ep.h"

namespace tenon::provider {
namespace {

std::string identity_text(const std::string& path) {
  Result<FileIdentity> identity = identity_of(path);
  return str_cat(path, "=", identity ? identity->to_string() : std::string("absent"), ";");
}

// Drivers and devices change more often between boots than within one.
const std::string& boot_id() {
  static const std::string id = [] {
    Result<std::unique_ptr<OpenFile>> file = OpenFile::open("/proc/sys/kernel/random/boot_id");
    char text[36];
    return file && (*file)->read(0, text, sizeof text) ? std::string(text, sizeof text) : std::string();
  }();
  return id;
}

/// Thread-safe.
class Answers {
 public:
  std::optional<ScanAnswer> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto at = answers_.find(key);
    return at == answers_.end() ? std::nullopt : std::optional(at->second);
  }
  void keep(const std::string& key, const ScanAnswer& answer) {
    const std::lock_guard lock(mutex_);
    if (answers_.size() >= kMost) answers_.clear();
    answers_.insert_or_assign(key, answer);
  }

 private:
  static constexpr size_t kMost = 1024;
  std::mutex mutex_;
  std::map<std::string, ScanAnswer> answers_;
};

Answers& answers_of_process() {
  static constinit PerProcess<Answers> answers;
  return answers.get();
}

constexpr std::string_view kLoaderCache = "/etc/ld.so.cache";
constexpr uint64_t kMaxLoaderCache = 16 << 20;

/// The folders that the dynamic loader searches besides its cache.
std::vector<std::string> loader_folders() {
  std::vector<std::string> out;
  if (std::optional<std::string> given = environment("LD_LIBRARY_PATH")) out = split(*given, ':');
  const std::string triplet = str_cat(host_arch(), "-linux-gnu");
  for (const char* folder : {"/lib/", "/usr/lib/"}) out.push_back(folder + triplet);
  for (const char* folder : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"}) out.emplace_back(folder);
  return out;
}

/// The bytes of the loader's cache, which holds paths as terminated strings. Empty when there is no cache.
std::string loader_cache() {
  Result<std::unique_ptr<OpenFile>> file = OpenFile::open(std::string(kLoaderCache));
  if (!file || (*file)->size() > kMaxLoaderCache) return {};
  std::string bytes((*file)->size(), '\0');
  return (*file)->read(0, bytes.data(), bytes.size()) ? bytes : std::string();
}

/// The identities of all files that the loader could find as `name`, whichever of them it takes.
std::string soname_identity(const std::string& name, const std::string& cache) {
  std::string out = name + ":";
  const auto add = [&](const std::string& path) {
    if (Result<FileIdentity> identity = identity_of(path))
      out += str_cat(path, "=", identity->to_string(), ";");
  };
  if (name.find('/') != std::string::npos) add(name);
  for (const std::string& folder : loader_folders()) add(str_cat(folder, "/", name));
  const std::string end = str_cat("/", name, std::string_view("\0", 1));
  for (size_t at = cache.find(end); at != std::string::npos; at = cache.find(end, at + 1)) {
    const size_t begin = cache.rfind('\0', at) + 1;  // npos + 1 is 0
    add(cache.substr(begin, at + end.size() - 1 - begin));
  }
  return out + "|";
}

/// The loader's environment variables and the hidden system folders. Drivers depend on both.
std::string surroundings() {
  std::string out = str_cat("hidden=", hidden_folders(), ";");
  for (const char* variable : {"LD_LIBRARY_PATH", "LD_PRELOAD", "GLIBC_TUNABLES"}) {
    out += str_cat(variable, "=", environment(variable).value_or(""), ";");
  }
  return out;
}

}  // namespace

std::string ScanCache::key_of(const ScanRequest& request) {
  std::string key = identity_text(request.file) + identity_text(request.helper);
  for (const ManifestFile& file : request.manifest->files)
    key += identity_text(request.manifest->path_of(file));
  for (const std::string& path : request.manifest->required_files) key += identity_text(path);
  const std::string cache = request.manifest->required_sonames.empty() ? std::string() : loader_cache();
  for (const std::string& name : request.manifest->required_sonames) key += soname_identity(name, cache);
  key += surroundings();
  key += str_cat(request.manifest->id, " ", request.manifest->version.to_string(), ";");
  return key + str_cat("abi=", TENON_EP_ABI_MAJOR, ".", TENON_EP_ABI_MINOR, ";boot=", boot_id());
}

std::string ScanCache::path_of(const std::string& key) const {
  return folder_ + "/scan/" + sha256_of(key) + ".txt";
}

std::optional<ScanAnswer> ScanCache::find(const std::string& key) const {
  if (std::optional<ScanAnswer> known = answers_of_process().find(key)) return known;
  std::optional<ScanAnswer> answer = folder_.empty() ? std::nullopt : read(key);
  if (answer) answers_of_process().keep(key, *answer);
  return answer;
}

std::optional<ScanAnswer> ScanCache::read(const std::string& key) const {
  Result<std::string> text = read_text_file(path_of(key), kMaxVerdictBytes);
  if (!text) return std::nullopt;
  size_t line = text->find('\n');
  if (line == std::string::npos || text->compare(0, line, key) != 0) return std::nullopt;
  std::optional<ScanVerdict> verdict = read_verdict(std::string_view(*text).substr(line + 1));
  if (!verdict || verdict->refusal != Refusal::kNone || verdict->out_of_memory) return std::nullopt;
  return ScanAnswer{std::move(verdict->build_id), std::move(verdict->devices)};
}

void ScanCache::keep(const std::string& key, const ScanAnswer& answer) const {
  answers_of_process().keep(key, answer);
  if (folder_.empty() || key.find('\n') != std::string::npos) return;
  ScanVerdict verdict;
  verdict.build_id = answer.build_id;
  verdict.devices = answer.devices;
  Status ignored = write_atomically(path_of(key), key + "\n" + write_verdict(verdict) + "\n");
  (void)ignored;
}

}  // namespace tenon::provider
