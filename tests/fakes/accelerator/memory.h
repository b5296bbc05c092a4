// Memory that only the accelerator can touch: its pages are PROT_NONE except while they are open for work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "tenon/ep.hpp"

namespace accelerator {

using namespace tenon::ep;  // the fake uses the SDK's names throughout

inline constexpr uint32_t kDeviceDomain = 1;
inline constexpr uint32_t kAlignment = 256;

/// A tenon_buffer* is the address of the protected pages, so that a host that dereferences it crashes.
class Memory {
 public:
  explicit Memory(uint64_t limit) : limit_(limit) {}
  ~Memory();

  tenon_buffer* allocate(uint64_t bytes);
  void free(tenon_buffer* buffer);
  /// Makes the pages accessible until as many close() calls. Throws for an unknown buffer or range.
  std::byte* open(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes);
  void close(tenon_buffer* buffer);
  size_t buffers() const;

 private:
  struct Block {
    uint64_t bytes = 0, mapped = 0;
    int opens = 0;
  };

  uint64_t limit_;
  mutable std::mutex mutex_;
  std::map<tenon_buffer*, Block> blocks_;
};

/// Keeps buffers open during a piece of work.
class Access {
 public:
  explicit Access(Memory& memory) : memory_(memory) {}
  ~Access() {
    for (tenon_buffer* buffer : open_) memory_.close(buffer);
  }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  std::byte* open(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes) {
    open_.reserve(open_.size() + 1);
    std::byte* address = memory_.open(buffer, byte_offset, bytes);
    open_.push_back(buffer);
    return address;
  }

 private:
  Memory& memory_;
  std::vector<tenon_buffer*> open_;
};

}  // namespace accelerator
