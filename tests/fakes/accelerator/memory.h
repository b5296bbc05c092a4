// Memory that only the accelerator can touch: its pages are PROT_NONE except while they are open for work. Beside it
// the staging memory, which the host may touch at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "pages.h"
#include "tenon/ep.hpp"

namespace accelerator {

using namespace tenon::ep;  // the fake uses the SDK's names throughout

inline constexpr uint32_t kDeviceDomain = 1;
inline constexpr uint32_t kStagingDomain = 2;
inline constexpr uint32_t kAlignment = 256;
inline constexpr uint64_t kDeviceBytes = uint64_t{16} << 30;

/// A tenon_buffer* is the address of the bytes, so that a host that dereferences it in device memory crashes. The bytes
/// end where a guard page begins. Device memory that is new or used again holds garbage. Thread-safe.
class Memory {
 public:
  /// `max_buffer_bytes`: of a buffer in device memory; 0: no limit.
  explicit Memory(uint64_t max_buffer_bytes) : max_buffer_bytes_(max_buffer_bytes) {}

  /// Throws RESOURCE_EXHAUSTED.
  tenon_buffer* allocate(uint32_t domain, uint64_t bytes);
  /// Device memory stays in a small cache, and counts as used there until another buffer of its size takes it or trim()
  /// gives it back.
  void free(tenon_buffer* buffer);
  /// Empties the cache.
  void trim();
  /// The size of the device memory from now on.
  void set_total(uint64_t bytes);
  tenon_memory_info info() const;

  /// Makes the bytes accessible until as many close() calls. Throws for an unknown buffer or range.
  std::byte* open(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes);
  void close(tenon_buffer* buffer);
  /// Throws when the bytes begin in a block of staging memory and end outside of it.
  void check_host_bytes(const void* address, uint64_t bytes) const;

  /// A copy of the bytes for the host. With TENON_MAP_DISCARD it holds garbage; without TENON_MAP_WRITE it cannot be
  /// written.
  void* map(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes, uint32_t flags);
  /// Writes the copy back if the host might have written it. False for an address that map() did not give.
  bool unmap(tenon_buffer* buffer, void* address);

  size_t buffers() const;

 private:
  struct Block {
    uint32_t domain = 0;
    uint64_t bytes = 0;
    Pages pages;
    int opens = 0;
  };
  struct Mapping {
    tenon_buffer* buffer = nullptr;
    uint64_t byte_offset = 0, bytes = 0;
    uint32_t flags = 0;
    Pages pages;
  };

  Pages take_pages(uint64_t bytes);  // under mutex_

  uint64_t max_buffer_bytes_;
  mutable std::mutex mutex_;
  std::map<tenon_buffer*, Block> blocks_;
  std::map<void*, Mapping> mappings_;
  std::deque<Pages> cache_;
  uint64_t total_ = kDeviceBytes;
  uint64_t used_ = 0;  // pages of device memory, with those in the cache
};

/// Keeps buffers open during a piece of work.
class Access {
 public:
  Access() = default;
  ~Access() {
    for (const Open& open : open_) open.memory->close(open.buffer);
  }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  std::byte* open(Memory& memory, tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes) {
    open_.reserve(open_.size() + 1);
    std::byte* address = memory.open(buffer, byte_offset, bytes);
    open_.push_back({&memory, buffer});
    return address;
  }

 private:
  struct Open {
    Memory* memory;
    tenon_buffer* buffer;
  };
  std::vector<Open> open_;
};

}  // namespace accelerator
