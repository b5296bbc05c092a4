#include "packed.h"

#include <cstring>
#include <map>
#include <mutex>

#include "tenon/ep/device/own_process.hpp"

namespace tenon::cpu {
namespace {

/// A few elements from all over: what differs in them need not be compared. Equal keys prove nothing.
uint64_t key_of(const Packed& packed) {
  constexpr int64_t kSamples = 64;
  const int64_t n = packed.elements(), samples = n < kSamples ? n : kSamples;
  auto key = static_cast<uint64_t>(n);
  for (int64_t i = 0; i < samples; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, packed.data() + i * n / samples, sizeof bits);
    key = (key ^ bits) * 0x9E3779B97F4A7C15u;
    key ^= key >> 29;
  }
  return key;
}

bool same(const Packed& a, const Packed& b) {
  return a.elements() == b.elements() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.elements()) * sizeof(float)) == 0;
}

/// What is in use.
class Registry {
 public:
  std::shared_ptr<const Packed> share(std::shared_ptr<const Packed> made) {
    const uint64_t key = key_of(*made);
    const std::lock_guard lock(mutex_);
    auto [at, end] = known_.equal_range(key);
    for (; at != end; ++at) {
      std::shared_ptr<const Packed> known = at->second.lock();
      if (known != nullptr && same(*known, *made)) return known;
    }
    if (known_.size() >= sweep_at_) {
      std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
      sweep_at_ = 64 + 2 * known_.size();
    }
    known_.emplace(key, made);
    return made;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    known_.clear();
  }

 private:
  std::mutex mutex_;
  std::multimap<uint64_t, std::weak_ptr<const Packed>> known_;
  size_t sweep_at_ = 64;
};

/// Never destroyed: the application's threads may make sessions while the process ends. Emptied when the library goes.
union Lasting {
  Registry registry;
  Lasting() : registry() {}
  ~Lasting() {}
} lasting;
const int64_t first_process = ep::OwnProcess::current();
struct AtEnd {
  ~AtEnd() {
    if (ep::OwnProcess::current() == first_process) lasting.registry.clear();
  }
} at_end;

}  // namespace

std::shared_ptr<const Packed> shared(std::shared_ptr<const Packed> made) {
  // In a child of fork a thread that it does not have may hold the lock.
  if (ep::OwnProcess::current() != first_process) return made;
  return lasting.registry.share(std::move(made));
}

}  // namespace tenon::cpu
