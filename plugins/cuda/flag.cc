#include "flag.h"

#include <atomic>
#include <cstring>

namespace tenon::cuda {

IndexFlag::IndexFlag(const Instance& instance, std::string place)
    : place_(std::move(place)), words_(instance.device.staging_memory(), sizeof(Words)) {
  std::memset(words_.get().address, 0, sizeof(Words));
}

std::optional<ep::Error> IndexFlag::take() {
  // The device writes the flag, which the compiler cannot see.
  if (std::atomic_ref<int32_t>(words().is_set).load(std::memory_order_acquire) == 0) return std::nullopt;
  const Words found = words();
  words() = Words{};
  const auto index = static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(found.high)) << 32 |
                                          static_cast<uint32_t>(found.low));
  return ep::Error{TENON_OUT_OF_RANGE,
                   ep::cat("index ", index, " is out of range for an axis of ", found.size),
                   TENON_ERROR_ASYNC, place_};
}

}  // namespace tenon::cuda
