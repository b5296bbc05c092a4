// What the environment asks of the stand-in. README.md explains each setting.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fake_cuda {

struct Settings {
  uint32_t devices = 1;
  std::vector<int> capabilities = {90};  // of the devices in turn; the last one is for all others
  int driver_version = 13000;
  uint64_t memory = 8ULL << 30;
  bool peer = true, pools = true, races = false, strict = false;
  uint64_t timeout_us = 120'000'000;
  std::string log, counts, cache;
  std::optional<uint64_t> oom_after, fail_launch, lost_after;
  std::set<std::string, std::less<>> blank;
  uint32_t delay_us = 0;
  std::string error;  // why a setting cannot be used

  int capability(uint32_t device) const {
    return device < capabilities.size() ? capabilities[device] : capabilities.back();
  }
};

Settings settings_of_environment();

}  // namespace fake_cuda
