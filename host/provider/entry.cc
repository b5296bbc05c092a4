#include "host/provider/entry.h"

#include <algorithm>
#include <ctime>

#include "host/base/out_of_memory.h"
#include "host/base/state_folder.h"
#include "host/base/text.h"
#include "host/provider/machine.h"
#include "host/provider/refusal.h"
#include "host/provider/scan.h"

namespace tenon::provider {
namespace {

// The first glob that matches, or null.
const std::string* match(const std::vector<std::string>& globs, const std::string& id) {
  auto found =
      std::find_if(globs.begin(), globs.end(), [&](const std::string& glob) { return glob_match(glob, id); });
  return found == globs.end() ? nullptr : &*found;
}

std::string written_in(const std::string& origin) { return origin.empty() ? "" : str_cat(" (", origin, ")"); }

std::string date_of(int64_t seconds) {
  std::time_t time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char text[32];
  if (gmtime_r(&time, &parts) == nullptr) return "an unknown day";
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts));
}

}  // namespace

std::string state_folder_of(const RegistryOptions& options) {
  return options.state_dir ? *options.state_dir : state_folder().value_or("");
}

Checker::Checker(const RegistryOptions& options)
    : options_(options), quarantine_(state_folder_of(options)), cache_(state_folder_of(options)) {}

std::shared_ptr<Entry> Checker::discover(const Found& found) const {
  auto entry = std::make_shared<Entry>();
  entry->found = found;
  Result<std::shared_ptr<const Manifest>> manifest = read_manifest(found.path);
  if (manifest) {
    entry->manifest = std::move(*manifest);
    entry->refused = check_text(*entry->manifest);
  } else {
    throw_if_out_of_memory(manifest.error());
    entry->refused = manifest.error();
  }
  return entry;
}

Status Checker::check_text(const Manifest& manifest) const {
  RETURN_IF_ERROR(check_enabled(manifest));
  RETURN_IF_ERROR(check_machine(manifest));
  return check_abi(manifest);
}

Status Checker::check_enabled(const Manifest& manifest) const {
  const config::Discovery& discovery = options_.discovery;
  if (const std::string* glob = match(discovery.deny, manifest.id)) {
    return refuse(Refusal::kDisabled, str_cat("'", manifest.id, "' is denied by '", *glob,
                                              "' in discovery.deny", written_in(options_.deny_origin)));
  }
  if (!match(discovery.allow, manifest.id)) {
    return refuse(Refusal::kDisabled, str_cat("'", manifest.id, "' matches nothing in discovery.allow",
                                              written_in(options_.allow_origin)));
  }
  return ok_status();
}

Status Checker::check(Entry& entry, CheckLevel level) {
  if (entry.ok() && entry.checked < CheckLevel::kFiles && level >= CheckLevel::kFiles) {
    Status checked = check_library(entry);
    if (checked.kind() == ErrorKind::kOutOfMemory) return checked;
    entry.refused = std::move(checked);
    entry.checked = CheckLevel::kFiles;
  }
  if (entry.ok() && entry.checked < CheckLevel::kScan && level >= CheckLevel::kScan) {
    Status scanned = scan(entry);
    if (scanned.kind() == ErrorKind::kOutOfMemory) return scanned;
    entry.refused = std::move(scanned);
    entry.checked = CheckLevel::kScan;
  }
  return ok_status();
}

bool Checker::is_fresh(const Entry& entry) { return entry.file.real_path.empty() || entry.file.is_fresh(); }

void Checker::forget_files(Entry& entry) {
  if (entry.checked == CheckLevel::kManifest) return;
  entry.refused = ok_status();
  entry.checked = CheckLevel::kManifest;
  entry.file = {};
  entry.devices.clear();
  entry.scanned = false;
}

Status Checker::check_quarantine(const Manifest& manifest) const {
  std::optional<QuarantineRecord> record = quarantine_.set_aside(manifest.file.sha256);
  if (!record) return ok_status();
  return refuse(Refusal::kQuarantined,
                str_cat("set aside after ", record->strikes, " failures, the last on ",
                        date_of(record->last_seconds), ": ", record->refusal, ": ", record->reason));
}

Status Checker::check_library(Entry& entry) const {
  RETURN_IF_ERROR(check_quarantine(*entry.manifest));
  ASSIGN_OR_RETURN(entry.file, check_files(*entry.manifest, options_.discovery.trust));
  return ok_status();
}

Status Checker::scan(Entry& entry) {
  if (options_.discovery.scan == config::Scan::kOff) return ok_status();
  std::string helper = options_.scan_helper ? *options_.scan_helper : find_scan_helper();
  ScanRequest request{std::move(helper), entry.file.real_path, entry.manifest.get(),
                      options_.discovery.scan_timeout};
  std::string key = ScanCache::key_of(request);
  std::optional<ScanAnswer> kept = options_.scan_afresh ? std::nullopt : cache_.find(key);
  Result<ScanAnswer> answer = kept ? Result<ScanAnswer>(std::move(*kept)) : scan_library(request);
  if (answer) {
    if (!kept) cache_.keep(key, *answer);
    entry.devices = std::move(answer->devices);
    entry.scanned = true;
    return ok_status();
  }
  Refusal code = refusal_from_name(answer.error().refusal());
  if (code == Refusal::kScanCrash || code == Refusal::kScanTimeout) {
    const Manifest& manifest = *entry.manifest;
    // If the record cannot be written, the library is tried again next time.
    Status ignored = quarantine_.strike({manifest.file.sha256, manifest.id, manifest.version.to_string(),
                                         entry.file.real_path, std::string(refusal_name(code)),
                                         std::string(answer.error().reason()), 0, 0});
    (void)ignored;
  }
  return answer.error();
}

}  // namespace tenon::provider
