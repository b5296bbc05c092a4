#include "memory.h"

#include <sys/mman.h>

#include <utility>

namespace accelerator {
namespace {

constexpr size_t kCached = 4;
constexpr uint64_t kSpoiled = uint64_t{1}
                              << 20;  // bytes of a new block that are filled with garbage, at most
constexpr int kReadWrite = PROT_READ | PROT_WRITE;

void set_access(const Pages& pages, int access) {
  require(pages.protect(access), TENON_RESOURCE_EXHAUSTED, "the access to ", pages.size(),
          " bytes of pages cannot be set");
}

}  // namespace

Pages Memory::take_pages(uint64_t bytes) {
  const uint64_t size = Pages::rounded(bytes);
  for (auto at = cache_.begin(); at != cache_.end(); ++at) {
    if (at->size() != size) continue;
    Pages found = std::move(*at);
    cache_.erase(at);
    return found;
  }
  require(size <= total_ && used_ <= total_ - size, TENON_RESOURCE_EXHAUSTED, "the device has ", total_,
          " bytes of memory, of which ", used_, " are in use, with ", cache_.size(),
          " freed blocks that the provider keeps; ", bytes, " bytes do not fit");
  Pages made(size);
  used_ += size;
  return made;
}

tenon_buffer* Memory::allocate(uint32_t domain, uint64_t bytes) {
  const bool is_staging = domain == kStagingDomain;
  require(is_staging || max_buffer_bytes_ == 0 || bytes <= max_buffer_bytes_, TENON_RESOURCE_EXHAUSTED,
          "a buffer of ", bytes, " bytes is above max_buffer_bytes");
  const std::lock_guard lock(mutex_);
  Pages pages = is_staging ? Pages(bytes) : take_pages(bytes);
  set_access(pages, kReadWrite);
  std::memset(pages.begin(), kGarbage, std::min(pages.size(), kSpoiled));
  if (!is_staging) set_access(pages, PROT_NONE);
  const uint64_t aligned = (std::max<uint64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  auto* buffer = reinterpret_cast<tenon_buffer*>(pages.end() - aligned);
  Block& block = blocks_[buffer];
  block.domain = domain;
  block.bytes = bytes;
  block.pages = std::move(pages);
  return buffer;
}

void Memory::free(tenon_buffer* buffer) {
  const std::lock_guard lock(mutex_);
  const auto at = blocks_.find(buffer);
  if (at == blocks_.end()) return;
  Block& block = at->second;
  if (block.domain == kDeviceDomain && block.opens == 0) {
    cache_.push_back(std::move(block.pages));
    if (cache_.size() > kCached) {
      used_ -= cache_.front().size();
      cache_.pop_front();
    }
  } else if (block.domain == kDeviceDomain) {
    used_ -= block.pages.size();  // unmapped at once, so that the work under way crashes
  }
  blocks_.erase(at);
}

void Memory::trim() {
  const std::lock_guard lock(mutex_);
  for (const Pages& pages : cache_) used_ -= pages.size();
  cache_.clear();
}

void Memory::set_total(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  total_ = bytes;
}

tenon_memory_info Memory::info() const {
  const std::lock_guard lock(mutex_);
  tenon_memory_info out{};
  out.struct_size = sizeof(out);
  out.total_bytes = total_;
  out.free_bytes = total_ - std::min(used_, total_);
  return out;
}

std::byte* Memory::open(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto at = blocks_.find(buffer);
  require(at != blocks_.end(), TENON_INTERNAL, "the host named a buffer that does not exist or was freed");
  Block& block = at->second;
  require(byte_offset <= block.bytes && bytes <= block.bytes - byte_offset, TENON_INTERNAL,
          "the host named bytes ", byte_offset, " to ", byte_offset + bytes, " of a buffer of ", block.bytes);
  if (block.opens == 0 && block.domain == kDeviceDomain) set_access(block.pages, kReadWrite);
  ++block.opens;
  return reinterpret_cast<std::byte*>(buffer) + byte_offset;
}

void Memory::close(tenon_buffer* buffer) {
  const std::lock_guard lock(mutex_);
  const auto at = blocks_.find(buffer);
  if (at == blocks_.end() || --at->second.opens != 0 || at->second.domain != kDeviceDomain) return;
  // Where the system refuses, a mistake of the host stays unseen until the next work.
  static_cast<void>(at->second.pages.protect(PROT_NONE));
}

void Memory::check_host_bytes(const void* address, uint64_t bytes) const {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  for (const auto& [buffer, block] : blocks_) {
    const auto begin = reinterpret_cast<uintptr_t>(buffer);
    if (block.domain != kStagingDomain || at < begin || at >= begin + block.bytes) continue;
    require(bytes <= begin + block.bytes - at, TENON_INTERNAL, "the host named bytes ", at - begin, " to ",
            at - begin + bytes, " of ", block.bytes, " bytes of staging memory");
  }
}

void* Memory::map(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes, uint32_t flags) {
  const bool discard = (flags & TENON_MAP_DISCARD) != 0;
  require((flags & (TENON_MAP_READ | TENON_MAP_WRITE)) != 0, TENON_INVALID_ARGUMENT,
          "the host maps bytes that it neither reads nor writes");
  require(!discard || (flags & (TENON_MAP_READ | TENON_MAP_WRITE)) == TENON_MAP_WRITE, TENON_INVALID_ARGUMENT,
          "the host maps bytes with DISCARD that it reads or does not write");
  Mapping mapping{buffer, byte_offset, bytes, flags, Pages(bytes)};
  set_access(mapping.pages, kReadWrite);
  {
    Access access;
    const std::byte* from = access.open(*this, buffer, byte_offset, bytes);
    std::memcpy(mapping.pages.begin(), from, bytes);
  }
  if (discard) std::memset(mapping.pages.begin(), kGarbage, bytes);
  if ((flags & TENON_MAP_WRITE) == 0) set_access(mapping.pages, PROT_READ);
  void* address = mapping.pages.begin();
  const std::lock_guard lock(mutex_);
  mappings_[address] = std::move(mapping);
  return address;
}

bool Memory::unmap(tenon_buffer* buffer, void* address) {
  Mapping mapping;
  {
    const std::lock_guard lock(mutex_);
    const auto at = mappings_.find(address);
    if (at == mappings_.end() || at->second.buffer != buffer) return false;
    mapping = std::move(at->second);
    mappings_.erase(at);
    if (blocks_.count(buffer) == 0) return false;  // freed while it was mapped
  }
  if ((mapping.flags & TENON_MAP_WRITE) == 0) return true;
  Access access;
  std::memcpy(access.open(*this, buffer, mapping.byte_offset, mapping.bytes), mapping.pages.begin(),
              mapping.bytes);
  return true;
}

size_t Memory::buffers() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size();
}

}  // namespace accelerator
