// The text that the scan helper writes into its pipe: lines "at <activity>" while it works, then "verdict <JSON>".
// When there is no verdict, the last activity tells where the library failed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/provider/device_info.h"
#include "host/provider/refusal.h"

namespace tenon::provider {

/// The descriptor that the helper inherits for its answer.
inline constexpr int kVerdictDescriptor = 3;
/// Most bytes of an answer that are read.
inline constexpr size_t kMaxVerdictBytes = 4 << 20;

struct ScanVerdict {
  Refusal refusal = Refusal::kNone;
  std::string reason;
  bool out_of_memory = false;  // the verdict says nothing about the library
  std::string build_id;
  std::vector<DeviceInfo> devices;
};

/// The number of the form that write_verdict() writes. A reader takes no other form, such as that of an answer which an
/// older version kept in a file.
inline constexpr int kVerdictForm = 2;

/// The helper's answer when it has no memory left to compose one.
inline constexpr std::string_view kOutOfMemoryVerdict =
    R"({"form":2,"refusal":"","reason":"no memory is left","out_of_memory":true,"build_id":"","devices":[]})";

/// Returns one line of JSON.
std::string write_verdict(const ScanVerdict& verdict);

}  // namespace tenon::provider
