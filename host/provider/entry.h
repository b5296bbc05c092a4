// A manifest that was found, what is known about it so far, and the checks that find out more.
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
  Status refused;                            // the refusal of its own checks; OK as far as `checked` says
  CheckLevel checked = CheckLevel::kManifest;
  CheckedFile file;  // filled at level kFiles and above
  std::vector<DeviceInfo> devices;
  bool scanned = false;

  bool ok() const { return refused.ok(); }
  /// Explicit places (0-2) win over the others (3-6).
  bool is_explicit() const { return found.place <= Place::kEnvAddFiles; }
};

/// Makes the checks of a manifest in order. Not thread-safe; the registry's lock protects it.
class Checker {
 public:
  explicit Checker(const RegistryOptions& options);

  /// Reads and parses the manifest, and runs the checks that need only its text.
  std::shared_ptr<Entry> discover(const Found& found) const;
  /// Runs the checks up to `level`; stops at a refusal, which is stored in the entry. Fails only when memory runs out.
  Status check(Entry& entry, CheckLevel level);
  /// True when the library is still the file that was checked.
  static bool is_fresh(const Entry& entry);
  /// Forgets what is known about the library, for example after its file changed.
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

/// The state folder of `options`, or else the user's. Empty when there is neither.
std::string state_folder_of(const RegistryOptions& options);

}  // namespace tenon::provider
