#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

namespace accelerator {

Memory::~Memory() {
  for (const auto& [buffer, block] : blocks_) ::munmap(buffer, block.mapped);
}

tenon_buffer* Memory::allocate(uint64_t bytes) {
  require(limit_ == 0 || bytes <= limit_, TENON_RESOURCE_EXHAUSTED, "a buffer of ", bytes,
          " bytes is above max_buffer_bytes");
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t mapped = (std::max<uint64_t>(bytes, 1) + page - 1) / page * page;
  void* address = ::mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(address != MAP_FAILED, TENON_RESOURCE_EXHAUSTED, "no memory for ", bytes, " bytes");
  auto* buffer = static_cast<tenon_buffer*>(address);
  const std::lock_guard lock(mutex_);
  blocks_[buffer] = {bytes, mapped, 0};
  return buffer;
}

void Memory::free(tenon_buffer* buffer) {
  const std::lock_guard lock(mutex_);
  const auto at = blocks_.find(buffer);
  if (at == blocks_.end()) return;
  ::munmap(buffer, at->second.mapped);
  blocks_.erase(at);
}

std::byte* Memory::open(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto at = blocks_.find(buffer);
  require(at != blocks_.end(), TENON_INTERNAL, "the host named a buffer that does not exist or was freed");
  Block& block = at->second;
  require(byte_offset <= block.bytes && bytes <= block.bytes - byte_offset, TENON_INTERNAL,
          "the host named bytes ", byte_offset, " to ", byte_offset + bytes, " of a buffer of ", block.bytes);
  if (block.opens++ == 0) ::mprotect(buffer, block.mapped, PROT_READ | PROT_WRITE);
  return reinterpret_cast<std::byte*>(buffer) + byte_offset;
}

void Memory::close(tenon_buffer* buffer) {
  const std::lock_guard lock(mutex_);
  const auto at = blocks_.find(buffer);
  if (at != blocks_.end() && --at->second.opens == 0) ::mprotect(buffer, at->second.mapped, PROT_NONE);
}

size_t Memory::buffers() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size();
}

}  // namespace accelerator
