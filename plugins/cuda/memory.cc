#include "memory.h"

#include <algorithm>
#include <bit>

namespace tenon::cuda {
namespace {

constexpr uint64_t kSmallBytes = kAlignment, kSharedBytes = uint64_t{64} << 10;
constexpr uint64_t kLeastPinned = uint64_t{64} << 10;  // larger pieces than small ones
constexpr uint64_t kMostIdle = uint64_t{256} << 20;

uint64_t round_up(uint64_t bytes, uint64_t to) { return (std::max<uint64_t>(bytes, 1) + to - 1) / to * to; }

StreamHandle make_stream(CUcontext context) {
  const Current current(context);
  CUstream out = nullptr;
  check(driver().cuStreamCreate(&out, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return StreamHandle(out);
}

}  // namespace

DeviceMemory::DeviceMemory(CUdevice device, CUcontext context, bool has_pools)
    : device_(device), context_(context), stream_(make_stream(context)) {
  if (!has_pools) return;
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  check(driver().cuMemPoolCreate(&pool_, &properties), "cuMemPoolCreate");
  keep_at_most(UINT64_MAX);
}

DeviceMemory::~DeviceMemory() {
  if (is_forked()) return;
  driver().cuStreamSynchronize(stream_.get());
  if (pool_ != nullptr) driver().cuMemPoolDestroy(pool_);
}

/// What the pool keeps when it waits for a stream; the rest goes back to the driver then.
void DeviceMemory::keep_at_most(uint64_t bytes) {
  cuuint64_t value = bytes;
  if (pool_ != nullptr)
    check(driver().cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value),
          "cuMemPoolSetAttribute");
}

void DeviceMemory::add_limit(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  limits_.insert(bytes);
  keep_at_most(*limits_.begin());
}

void DeviceMemory::drop_limit(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  limits_.erase(limits_.find(bytes));
  keep_at_most(limits_.empty() ? UINT64_MAX : *limits_.begin());
}

CUdeviceptr DeviceMemory::take(uint64_t bytes, CUstream stream) {
  CUdeviceptr out = 0;
  const std::string what = ep::cat("device memory of ", bytes, " bytes");
  if (pool_ == nullptr) {
    check(driver().cuMemAlloc(&out, bytes), what);
    return out;
  }
  const CUstream on = stream == nullptr ? stream_.get() : stream;
  check(driver().cuMemAllocFromPoolAsync(&out, bytes, pool_, on), what);
  if (stream != nullptr) return out;
  // Other streams use it next.
  const CUresult code = driver().cuStreamSynchronize(on);
  if (code == CUDA_SUCCESS) return out;
  driver().cuMemFreeAsync(out, on);
  throw error_of(code, what);
}

Piece DeviceMemory::allocate(uint64_t bytes, CUstream stream) {
  const Current current(context_);
  const uint64_t size = round_up(bytes, kAlignment);
  {
    const std::lock_guard lock(mutex_);
    ep::require(limits_.empty() || (used_ <= *limits_.begin() && size <= *limits_.begin() - used_),
                TENON_RESOURCE_EXHAUSTED, size, " bytes of device memory are wanted and ", used_,
                " are in use, which is more than the option memory_limit allows (",
                limits_.empty() ? 0 : *limits_.begin(), ")");
    used_ += size;
  }
  try {
    return {take(size, stream), size, nullptr};
  } catch (...) {
    const std::lock_guard lock(mutex_);
    used_ -= size;
    throw;
  }
}

void DeviceMemory::free(const Piece& piece, CUstream stream) noexcept {
  if (is_forked()) return;
  try {
    const Current current(context_);
    // Results do not matter: after an error of the device nothing can be freed.
    if (pool_ != nullptr) {
      driver().cuMemFreeAsync(piece.pointer, stream == nullptr ? stream_.get() : stream);
    } else {
      if (stream != nullptr) driver().cuStreamSynchronize(stream);
      driver().cuMemFree(piece.pointer);
    }
  } catch (...) {
  }
  const std::lock_guard lock(mutex_);
  used_ -= piece.bytes;
}

void DeviceMemory::trim() {
  if (pool_ == nullptr) return;
  const Current current(context_);
  check(driver().cuStreamSynchronize(stream_.get()), "cuStreamSynchronize");
  check(driver().cuMemPoolTrimTo(pool_, 0), "cuMemPoolTrimTo");
}

void DeviceMemory::open_to(CUdevice device, CUcontext context) {
  const std::lock_guard lock(mutex_);
  if (!opened_to_.insert(device).second) return;
  int can = 0;
  if (driver().cuDeviceCanAccessPeer(&can, device, device_) != CUDA_SUCCESS || can == 0) return;
  if (pool_ != nullptr) {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    check(driver().cuMemPoolSetAccess(pool_, &access, 1), "cuMemPoolSetAccess");
    return;
  }
  const Current current(context);
  const CUresult code = driver().cuCtxEnablePeerAccess(context_, 0);
  if (code != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED && code != CUDA_ERROR_TOO_MANY_PEERS)
    check(code, "cuCtxEnablePeerAccess");
}

StagingMemory::~StagingMemory() {
  if (is_forked()) return;
  for (const auto& [bytes, piece] : idle_) unpin(piece);
  for (const Piece& piece : shared_) unpin(piece);
}

Piece StagingMemory::pin(uint64_t bytes) const {
  const Current current(context_);
  void* address = nullptr;
  check(driver().cuMemHostAlloc(&address, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
        ep::cat("pinned memory of ", bytes, " bytes"));
  Piece out{0, bytes, static_cast<char*>(address)};
  const CUresult code = driver().cuMemHostGetDevicePointer(&out.pointer, address, 0);
  if (code == CUDA_SUCCESS) return out;
  driver().cuMemFreeHost(address);
  throw error_of(code, "cuMemHostGetDevicePointer");
}

void StagingMemory::unpin(const Piece& piece) const noexcept {
  try {
    const Current current(context_);
    driver().cuMemFreeHost(piece.address);
  } catch (...) {  // the process is lost, and its memory with it
  }
}

Piece StagingMemory::allocate(uint64_t bytes, CUstream) {
  const std::lock_guard lock(mutex_);
  if (bytes <= kSmallBytes) {
    if (small_.empty()) {
      const Piece& block = shared_.emplace_back(pin(kSharedBytes));
      for (uint64_t at = kSharedBytes; at > 0; at -= kSmallBytes)
        small_.push_back({block.pointer + at - kSmallBytes, kSmallBytes, block.address + at - kSmallBytes});
    }
    const Piece out = small_.back();
    small_.pop_back();
    return out;
  }
  const uint64_t size = bytes <= (uint64_t{1} << 20) ? std::bit_ceil(std::max(bytes, kLeastPinned))
                                                     : round_up(bytes, uint64_t{1} << 20);
  if (const auto found = idle_.find(size); found != idle_.end()) {
    const Piece out = found->second;
    idle_.erase(found);
    idle_bytes_ -= size;
    return out;
  }
  return pin(size);
}

void StagingMemory::free(const Piece& piece, CUstream) noexcept {
  if (is_forked()) return;
  try {
    const std::lock_guard lock(mutex_);
    if (piece.bytes == kSmallBytes) {
      small_.push_back(piece);
      return;
    }
    if (idle_bytes_ + piece.bytes <= kMostIdle) {
      idle_.emplace(piece.bytes, piece);
      idle_bytes_ += piece.bytes;
      return;
    }
  } catch (const std::bad_alloc&) {  // no memory for the list
  }
  if (piece.bytes != kSmallBytes) unpin(piece);
}

void StagingMemory::trim() {
  const std::lock_guard lock(mutex_);
  for (const auto& [bytes, piece] : idle_) unpin(piece);
  idle_.clear();
  idle_bytes_ = 0;
}

}  // namespace tenon::cuda
