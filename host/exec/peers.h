// Which devices of a provider copy between each other on a stream. A provider need not; the first copy tells.
#pragma once

#include <mutex>
#include <set>
#include <utility>

#include "host/device/device.h"

namespace tenon::runtime {

/// True for two devices of one provider.
inline bool are_peers(const MemoryDomain& a, const MemoryDomain& b) {
  return !a.is_host() && !b.is_host() && a.device != b.device && a.device->provider() == b.device->provider();
}

/// The copies that a provider refused to the parts of one executable, whose devices stay open. Plans that are made later
/// copy by way of host memory. Thread-safe.
class RefusedPeers {
 public:
  void add(const Device& to, const Device& from) {
    const std::lock_guard lock(mutex_);
    pairs_.emplace(&to, &from);
  }
  bool contains(const Device& to, const Device& from) const {
    const std::lock_guard lock(mutex_);
    return pairs_.count({&to, &from}) != 0;
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::pair<const Device*, const Device*>> pairs_;
};

}  // namespace tenon::runtime
