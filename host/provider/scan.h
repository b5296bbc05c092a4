// Tries a library in a process of its own. The helper `tenon-scan` maps it, negotiates, enumerates devices and
// answers through a pipe. If the library crashes, hangs or exits there, the host gets a refusal.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "host/provider/device_info.h"
#include "host/provider/manifest.h"

namespace tenon::provider {

struct ScanRequest {
  std::string helper;  // path of tenon-scan
  std::string file;    // real path of the library
  const Manifest* manifest = nullptr;
  double timeout_seconds = 20;
};

/// The answer of a library that works.
struct ScanAnswer {
  std::string build_id;
  std::vector<DeviceInfo> devices;
};

/// Blocks until the answer or the time-out. Refusals: E_POLICY (no helper, or it cannot be started), E_SCAN_CRASH,
/// E_SCAN_TIMEOUT, and those that the helper finds: E_DEP_MISSING, E_LIBC, E_LOAD, E_NO_ENTRY, E_NEGOTIATE,
/// E_SLOT_MISSING, E_ABI_TOO_OLD, E_ABI_TOO_NEW, E_SANITIZER, E_SELFTEST, E_NO_DEVICE. Running out of memory here
/// or in the helper is the error kOutOfMemory, not a refusal. Thread-safe.
Result<ScanAnswer> scan_library(const ScanRequest& request);

/// System folders that drivers need and that a container or chroot hides, as in "/sys, /proc". Empty when all are
/// there.
std::string hidden_folders();

/// Looks for tenon-scan in own_folder(), and in tenon/, ../lib and ../bin below it. Empty when there is none.
std::string find_scan_helper();

/// The library or executable file that contains this code, and its folder. Real paths; empty when unknown.
const std::string& own_file();
std::string own_folder();

}  // namespace tenon::provider
