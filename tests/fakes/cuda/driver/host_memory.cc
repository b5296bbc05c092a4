// Pinned memory of the host. What cuMemHostAlloc gives is mapped by all devices, at the same address; what the application
// registers is not, so copies of it are done by the host's process.
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>

#include "memory.h"
#include "process.h"
#include "queue.h"

namespace fake_cuda {
namespace {

constexpr uint64_t kPageBytes = 4096;

uint64_t address_of(const void* memory) { return reinterpret_cast<uint64_t>(memory); }

/// Places of the pinned memory's file are used again by size.
struct Places {
  uint64_t next = kPageBytes;
  std::multimap<uint64_t, uint64_t> free;

  uint64_t take(uint64_t bytes) {
    const auto found = free.find(bytes);
    if (found != free.end()) {
      const uint64_t place = found->second;
      free.erase(found);
      return place;
    }
    require(next + bytes <= kPinnedBytes, CUDA_ERROR_OUT_OF_MEMORY);
    next += bytes;
    return next - bytes;
  }
};
Places& places() {
  static Places places;
  return places;
}

uint64_t pages_of(uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

void* allocate(size_t bytes, unsigned flags) {
  constexpr unsigned kKnown =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  require(bytes > 0 && (flags & ~kKnown) == 0, CUDA_ERROR_INVALID_VALUE);
  require(bytes <= kPinnedBytes, CUDA_ERROR_OUT_OF_MEMORY);
  Driver& own = driver();
  const uint64_t pages = pages_of(bytes), place = places().take(pages + 2 * kPageBytes);
  // With a page that nobody can access on either side. The address is a wish, since ThreadSanitizer allows none of these.
  void* around = mmap(reinterpret_cast<void*>(kPinnedMemory + place), pages + 2 * kPageBytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(around != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
  void* memory = mmap(static_cast<unsigned char*>(around) + kPageBytes, pages, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_FIXED, own.pinned_fd, static_cast<off_t>(place));
  require(memory != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
  own.host_memory[address_of(memory)] = {bytes, flags, false, place};
  for (const auto& device : own.devices) {
    if (device->process_fd >= 0) write_log(*device, {Once::kPin, 0, address_of(memory), pages, place});
  }
  return memory;
}

HostMemory& host_memory_at(const void* memory, bool registered, CUresult otherwise) {
  uint64_t begin = 0;
  HostMemory* found = find_host_memory(memory, 0, &begin);
  require(found != nullptr && begin == address_of(memory) && found->registered == registered, otherwise);
  return *found;
}

void wait_for_all(Call& call) {
  for (const auto& device : driver().devices) {
    if (device->context->is_active() && error_of(*device) == CUDA_SUCCESS) wait_for_device(call, *device);
  }
}

}  // namespace

HostMemory* find_host_memory(const void* address, uint64_t bytes, uint64_t* begin) {
  auto& all = driver().host_memory;
  auto next = all.upper_bound(address_of(address));
  if (next == all.begin()) return nullptr;
  --next;
  const uint64_t inside = address_of(address) - next->first;
  if (inside >= next->second.bytes || bytes > next->second.bytes - inside) return nullptr;
  if (begin != nullptr) *begin = next->first;
  return &next->second;
}

}  // namespace fake_cuda

using namespace fake_cuda;

CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  return run_call("cuMemHostAlloc", kContext | kUnsafe, [&](Call& call) {
    call.say(std::to_string(bytes) + " bytes");
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    *out = allocate(bytes, flags);
  });
}

CUresult cuMemAllocHost(void** out, size_t bytes) {
  return run_call("cuMemAllocHost", kContext | kUnsafe, [&](Call& call) {
    call.say(std::to_string(bytes) + " bytes");
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    *out = allocate(bytes, 0);
  });
}

CUresult cuMemFreeHost(void* memory) {
  return run_call("cuMemFreeHost", kContext | kUnsafe, [&](Call& call) {
    host_memory_at(memory, false, CUDA_ERROR_INVALID_VALUE);
    wait_for_all(call);
    const HostMemory it = host_memory_at(memory, false, CUDA_ERROR_INVALID_VALUE);
    Driver& own = driver();
    const uint64_t pages = pages_of(it.bytes);
    for (const auto& device : own.devices) {
      if (device->process_fd >= 0) write_log(*device, {Once::kUnpin, 0, address_of(memory), pages, 0});
    }
    own.host_memory.erase(address_of(memory));
    munmap(static_cast<unsigned char*>(memory) - kPageBytes, pages + 2 * kPageBytes);
    fallocate(own.pinned_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(it.place),
              static_cast<off_t>(pages));
    places().free.emplace(pages + 2 * kPageBytes, it.place);
  });
}

CUresult cuMemHostRegister(void* memory, size_t bytes, unsigned flags) {
  return run_call("cuMemHostRegister", kContext | kUnsafe, [&](Call&) {
    constexpr unsigned kKnown = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_READ_ONLY;
    require(memory != nullptr && bytes > 0, CUDA_ERROR_INVALID_VALUE);
    require((flags & ~kKnown) == 0, CUDA_ERROR_NOT_SUPPORTED,
            "the stand-in maps no registered memory into devices");
    auto& all = driver().host_memory;
    const auto next = all.lower_bound(address_of(memory));
    const bool taken = find_host_memory(memory, 0) != nullptr ||
                       (next != all.end() && next->first < address_of(memory) + bytes);
    require(!taken, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    all[address_of(memory)] = {bytes, flags, true, 0};
  });
}

CUresult cuMemHostUnregister(void* memory) {
  return run_call("cuMemHostUnregister", kContext | kUnsafe, [&](Call& call) {
    host_memory_at(memory, true, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    wait_for_all(call);
    driver().host_memory.erase(address_of(memory));
  });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* out, void* memory, unsigned flags) {
  return run_call("cuMemHostGetDevicePointer", kContext, [&](Call&) {
    require(out != nullptr && flags == 0, CUDA_ERROR_INVALID_VALUE);
    const HostMemory* found = find_host_memory(memory, 0);
    require(found != nullptr, CUDA_ERROR_INVALID_VALUE, "no pinned memory");
    require(!found->registered, CUDA_ERROR_INVALID_VALUE,
            "it was registered without CU_MEMHOSTREGISTER_DEVICEMAP");
    *out = address_of(memory);
  });
}

CUresult cuMemHostGetFlags(unsigned* out, void* memory) {
  return run_call("cuMemHostGetFlags", kContext, [&](Call&) {
    const HostMemory* found = find_host_memory(memory, 0);
    require(out != nullptr && found != nullptr && !found->registered, CUDA_ERROR_INVALID_VALUE);
    *out = found->flags;
  });
}
