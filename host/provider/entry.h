// One manifest that was found, with everything learned about it so far; and the checks that learn more.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/provider/file_checks.h"
#include "host/provider/quarantine.h"
#include "host/provider/registry.h"
#include "host/provider/scan_cache.h"
#include "host/provider/search.h"

namespace tenon::provider {

struct Entry {
  Found found;
  std::shared_ptr<const Manifest> manifest;  // null when it could not be parsed
  Status refused;                            // of its own checks; OK as far as `checked` goes
  CheckLevel checked = CheckLevel::kManifest;
  CheckedFile file;  // from kFiles on
  std::vector<DeviceInfo> devices;
  bool scanned = false;

  bool ok() const { return refused.ok(); }
  /// Places 0-3 win over 4-7.
  bool is_explicit() const { return found.place <= Place::kEnvAddFiles; }
};

/// The stages of a check, in order. Not thread-safe; the registry's lock protects it.
class Checker {
 public:
  explicit Checker(const RegistryOptions& options);

  /// Reads and parses the manifest, then everything that needs nothing but its text.
  std::shared_ptr<Entry> discover(const Found& found) const;
  /// Brings the entry up to `level`, unless it is refused before. Fails when memory runs out, which is no verdict.
  Status check(Entry& entry, CheckLevel level);
  /// True when the library is still the file that was checked.
  static bool is_fresh(const Entry& entry);
  /// Forgets what is known of the library, for example after its file changed.
  static void forget_files(Entry& entry);

 private:
  Status check_enabled(const Manifest& manifest) const;
  Status check_text(const Manifest& manifest) const;
  Status check_quarantine(const Manifest& manifest) const;
  Status check_library(Entry& entry) const;
  Status scan(Entry& entry);

  const RegistryOptions& options_;
  Quarantine quarantine_;
  ScanCache cache_;
};

/// The state folder that `options` name, or the user's; empty when there is none.
std::string state_folder_of(const RegistryOptions& options);

}  // namespace tenon::provider
