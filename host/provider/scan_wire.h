// What the scan helper writes into its pipe: lines "at <stage>" while it works, then "verdict <JSON>". The
// stages name the culprit when no verdict comes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/provider/device_info.h"
#include "host/provider/refusal.h"

namespace tenon::provider {

/// The descriptor that the helper inherits for its answer.
inline constexpr int kVerdictDescriptor = 3;
/// Longest answer that is read.
inline constexpr size_t kMaxVerdictBytes = 4 << 20;

struct ScanVerdict {
  Refusal refusal = Refusal::kNone;
  std::string reason;
  bool out_of_memory = false;  // no verdict on the library
  std::string build_id;
  std::vector<DeviceInfo> devices;
};

/// What the helper writes when no memory is left to write anything else.
inline constexpr std::string_view kOutOfMemoryVerdict =
    R"({"refusal":"","reason":"no memory is left","out_of_memory":true,"build_id":"","devices":[]})";

/// One line of JSON.
std::string write_verdict(const ScanVerdict& verdict);

}  // namespace tenon::provider
