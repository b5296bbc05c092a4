#include "memory.h"

#include <algorithm>

#include "capture.h"
#include "process.h"
#include "queue.h"

namespace fake_cuda {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kGap = 64 << 10;     // between allocations
constexpr uint64_t kAlignment = 256;    // of the addresses, as CUDA's
constexpr uint64_t kHuge = 1ULL << 40;  // no sizes that overflow

uint64_t rounded(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

/// An address that ends, but for its alignment, where its last page does, so that what is behind is not accessible.
uint64_t place_of(Device& device, uint64_t bytes) {
  const uint64_t span = rounded(bytes, kAlignment), pages = rounded(span, kPageBytes);
  const uint64_t end = base_of(device.index) + kDeviceBytes;
  for (int round = 0; round < 2; ++round) {
    uint64_t begin = device.next_address;
    // Addresses are used again only when all have been used once.
    while (begin + pages + kGap < end) {
      const auto next = device.allocations.lower_bound(begin);
      const uint64_t free_end =
          next == device.allocations.end() ? end : next->first / kPageBytes * kPageBytes;
      if (begin + pages + kGap <= free_end) {
        device.next_address = begin + pages + kGap;
        return begin + pages - span;
      }
      begin = rounded(next->first + next->second.bytes, kPageBytes) + kGap;
    }
    device.next_address = base_of(device.index) + kGap;
  }
  refuse(CUDA_ERROR_OUT_OF_MEMORY, "no addresses");
}

void reserve_in(Device& device, Pool& pool, uint64_t bytes) {
  if (pool.max_bytes != 0 && pool.used + bytes > pool.max_bytes)
    refuse(CUDA_ERROR_OUT_OF_MEMORY, "the pool has a limit of " + std::to_string(pool.max_bytes) + " bytes");
  const uint64_t reserved = std::max(pool.reserved, pool.used + bytes);
  if (used_bytes(device) - pool.reserved + reserved > driver().settings.memory) {
    for (const auto& other : device.pools) other->reserved = other->used;
    if (used_bytes(device) + bytes > driver().settings.memory)
      refuse(CUDA_ERROR_OUT_OF_MEMORY,
             "the device has too little memory for " + std::to_string(bytes) + " bytes");
    pool.reserved = pool.used + bytes;
  } else {
    pool.reserved = reserved;
  }
  pool.used += bytes;
  pool.used_high = std::max(pool.used_high, pool.used);
  pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
}

}  // namespace

uint64_t used_bytes(const Device& device) {
  uint64_t used = device.direct_bytes;
  for (const auto& pool : device.pools) used += pool->reserved;
  return used;
}

uint64_t take_memory(Device& device, uint64_t bytes, Pool* pool) {
  const Settings& settings = driver().settings;
  if (settings.oom_after && driver().allocations_made >= *settings.oom_after)
    refuse(CUDA_ERROR_OUT_OF_MEMORY, "TENON_FAKE_CUDA_OOM_AFTER");
  require(bytes < kHuge, CUDA_ERROR_OUT_OF_MEMORY, "too many bytes");
  const uint64_t charged = rounded(bytes, pool == nullptr ? kPageBytes : kAlignment);
  if (pool != nullptr) {
    reserve_in(device, *pool, charged);
  } else {
    if (used_bytes(device) + charged > settings.memory)
      refuse(CUDA_ERROR_OUT_OF_MEMORY,
             "the device has too little memory for " + std::to_string(bytes) + " bytes");
    device.direct_bytes += charged;
  }
  ++driver().allocations_made;
  const uint64_t address = place_of(device, bytes);
  device.allocations[address] = {bytes, pool, false};
  return address;
}

void forget_memory(Device& device, uint64_t address) {
  const auto found = device.allocations.find(address);
  const Allocation& it = found->second;
  if (it.pool != nullptr) {
    Pool* pool = it.pool;
    pool->used -= rounded(it.bytes, kAlignment);
    device.allocations.erase(found);
    if (!pool->destroyed || pool->used > 0) return;
    std::erase_if(device.pools, [&](const auto& other) { return other.get() == pool; });
  } else {
    device.direct_bytes -= rounded(it.bytes, kPageBytes);
    device.allocations.erase(found);
  }
}

Allocation* find_allocation(uint64_t address, uint64_t bytes, Device** device, uint64_t* begin) {
  if (!is_device_address(address) || device_of(address) >= driver().devices.size()) return nullptr;
  Device& owner = *driver().devices[device_of(address)];
  auto next = owner.allocations.upper_bound(address);
  if (next == owner.allocations.begin()) return nullptr;
  --next;
  if (address - next->first > next->second.bytes || bytes > next->second.bytes - (address - next->first))
    return nullptr;
  if (address - next->first == next->second.bytes && bytes == 0) return nullptr;
  if (device != nullptr) *device = &owner;
  if (begin != nullptr) *begin = next->first;
  return &next->second;
}

Allocation& allocation_at(uint64_t address, uint64_t bytes, Device** device) {
  Allocation* found = find_allocation(address, bytes, device);
  require(found != nullptr, CUDA_ERROR_INVALID_VALUE, "the range is not inside of one allocation");
  return *found;
}

void map_for_peers(Device& device, uint64_t address, uint64_t bytes, const Pool* pool) {
  for (const auto& other : driver().devices) {
    if (other.get() == &device || !other->context || !other->context->is_active()) continue;
    const bool reads =
        pool == nullptr ? other->peers.count(&device) > 0 : pool->readers.count(other.get()) > 0;
    if (reads) write_log(*other, {Once::kMap, 0, address, bytes, 0});
  }
}

void map_all_for(Device& reader, Device& owner) {
  for (const auto& [address, it] : owner.allocations) {
    if (it.pool == nullptr) write_log(reader, {Once::kMap, 0, address, it.bytes, 0});
  }
}

}  // namespace fake_cuda

using namespace fake_cuda;

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  return run_call("cuMemGetInfo", kContext, [&](Call& call) {
    const uint64_t all = driver().settings.memory;
    if (total != nullptr) *total = all;
    if (free != nullptr) *free = all - used_bytes(call.device());
  });
}

CUresult cuMemAlloc(CUdeviceptr* out, size_t bytes) {
  return run_call("cuMemAlloc", kContext | kUnsafe, [&](Call& call) {
    call.say(std::to_string(bytes) + " bytes");
    require(out != nullptr && bytes > 0, CUDA_ERROR_INVALID_VALUE);
    Device& device = call.device();
    const uint64_t address = take_memory(device, bytes, nullptr);
    write_log(device, {Once::kMap, 0, address, bytes, 0});
    map_for_peers(device, address, bytes, nullptr);
    *out = address;
  });
}

CUresult cuMemFree(CUdeviceptr address) {
  return run_call("cuMemFree", kContext | kUnsafe, [&](Call& call) {
    if (address == 0) return;
    Device* device = nullptr;
    uint64_t begin = 0;
    require(find_allocation(address, 0, &device, &begin) != nullptr && begin == address,
            CUDA_ERROR_INVALID_VALUE, "no allocation begins there");
    wait_for_device(call, *device);
    require(find_allocation(address, 0) != nullptr, CUDA_ERROR_INVALID_VALUE, "freed by another thread");
    const uint64_t bytes = device->allocations.at(address).bytes;
    for (const auto& other : driver().devices) {
      if (other.get() != device && other->process_fd >= 0 && (other->peers.count(device) > 0))
        write_log(*other, {Once::kUnmap, 0, address, bytes, 0});
    }
    write_log(*device, {Once::kUnmap, 0, address, bytes, 0});
    forget_memory(*device, address);
  });
}

CUresult cuMemGetAddressRange(CUdeviceptr* begin, size_t* bytes, CUdeviceptr address) {
  return run_call("cuMemGetAddressRange", kContext, [&](Call&) {
    uint64_t at = 0;
    const Allocation* found = find_allocation(address, 1, nullptr, &at);
    require(found != nullptr, CUDA_ERROR_NOT_FOUND);
    if (begin != nullptr) *begin = at;
    if (bytes != nullptr) *bytes = found->bytes;
  });
}
