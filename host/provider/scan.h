// Trying a library in a process of its own: the helper `tenon-scan` maps it, negotiates and enumerates
// devices, and answers through a pipe. Whatever the library does there, crash, hang or exit, is a verdict
// here.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "host/provider/device_info.h"
#include "host/provider/manifest.h"

namespace tenon::provider {

struct ScanRequest {
  std::string helper;  // path of tenon-scan
  std::string file;    // the library: a real path
  const Manifest* manifest = nullptr;
  double timeout_seconds = 20;
};

/// What a library that works answered.
struct ScanAnswer {
  std::string build_id;
  std::vector<DeviceInfo> devices;
};

/// Blocks until the answer or the time-out. Refusals: E_POLICY (no helper, or it cannot be started),
/// E_SCAN_CRASH, E_SCAN_TIMEOUT, and what the helper found: E_DEP_MISSING, E_LIBC, E_LOAD, E_NO_ENTRY,
/// E_NEGOTIATE, E_SLOT_MISSING, E_ABI_TOO_OLD, E_ABI_TOO_NEW, E_SANITIZER, E_SELFTEST, E_NO_DEVICE. Memory that runs out here
/// or in the helper is no refusal but the error kOutOfMemory. Thread-safe.
Result<ScanAnswer> scan_library(const ScanRequest& request);

/// What drivers read to learn of the machine and a container or chroot may lack: "/sys, /proc", or empty.
std::string hidden_folders();

/// The helper beside this library (or, where this code is linked into a program, beside it or in ../lib);
/// empty when there is none.
std::string find_scan_helper();

/// The library (or program) that holds this code, and its folder; real paths, empty when unknown.
const std::string& own_file();
std::string own_folder();

}  // namespace tenon::provider
