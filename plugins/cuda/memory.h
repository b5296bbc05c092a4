// Memory of a device: a stream-ordered pool of the driver with a cap, and pinned memory of the host.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "api.h"
#include "tenon/ep.hpp"

namespace tenon::cuda {

/// Memory that kernels can use. `address`: where the host sees it, or null.
struct Piece {
  CUdeviceptr pointer = 0;
  uint64_t bytes = 0;
  char* address = nullptr;

  explicit operator bool() const { return pointer != 0; }
};

/// What gives pieces. Thread-safe. Its functions may be called with any current context.
class MemoryPool {
 public:
  virtual ~MemoryPool() = default;
  /// The memory may be used by work that `stream` is given afterwards, or by any work if it is null. Throws RESOURCE_EXHAUSTED.
  /// `bytes` may be 0.
  virtual Piece allocate(uint64_t bytes, CUstream stream) = 0;
  /// The memory is free after the work of `stream`; if it is null, no work uses it.
  virtual void free(const Piece& piece, CUstream stream) noexcept = 0;
  /// Gives back what is kept for later.
  virtual void trim() = 0;
};

/// Device memory, in the order of streams where the driver has pools.
class DeviceMemory : public MemoryPool {
 public:
  DeviceMemory(CUdevice device, CUcontext context, bool has_pools);
  ~DeviceMemory() override;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  Piece allocate(uint64_t bytes, CUstream stream) override;
  void free(const Piece& piece, CUstream stream) noexcept override;
  void trim() override;

  /// A cap for all pieces together, in bytes, until drop_limit() with the same number. The smallest one applies.
  void add_limit(uint64_t bytes);
  void drop_limit(uint64_t bytes);
  /// Lets another device read and write the memory, where the two can. Looks only once per device.
  void open_to(CUdevice device, CUcontext context);

 private:
  CUdeviceptr take(uint64_t bytes, CUstream stream);
  void keep_at_most(uint64_t bytes);

  const CUdevice device_;
  const CUcontext context_;
  CUmemoryPool pool_ = nullptr;  // null: the driver has none
  StreamHandle stream_;          // orders what has no stream of its own
  std::mutex mutex_;             // for what follows
  uint64_t used_ = 0;
  std::multiset<uint64_t> limits_;
  std::set<CUdevice> opened_to_;
};

/// Pinned memory, which kernels see too. Freed pieces are kept, since pinning takes long.
class StagingMemory : public MemoryPool {
 public:
  explicit StagingMemory(CUcontext context) : context_(context) {}
  ~StagingMemory() override;
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;

  Piece allocate(uint64_t bytes, CUstream stream) override;
  /// Without a stream only: Stream::keep() is for memory that work still uses.
  void free(const Piece& piece, CUstream stream) noexcept override;
  void trim() override;

 private:
  Piece pin(uint64_t bytes) const;
  void unpin(const Piece& piece) const noexcept;

  const CUcontext context_;
  std::mutex mutex_;
  std::multimap<uint64_t, Piece> idle_;  // by bytes
  uint64_t idle_bytes_ = 0;
  std::vector<Piece> shared_;  // what small pieces are parts of
  std::vector<Piece> small_;   // of those parts, the idle ones
};

/// Owns a piece.
class OwnedPiece {
 public:
  OwnedPiece() = default;
  OwnedPiece(MemoryPool& pool, uint64_t bytes, CUstream stream = nullptr)
      : pool_(&pool), piece_(pool.allocate(bytes, stream)) {}
  OwnedPiece(OwnedPiece&& other) noexcept : pool_(other.pool_), piece_(std::exchange(other.piece_, {})) {}
  OwnedPiece& operator=(OwnedPiece&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(piece_, other.piece_);
    return *this;
  }
  ~OwnedPiece() { free_after(nullptr); }
  /// The work enqueued on the stream so far may still use the memory.
  void free_after(CUstream stream) noexcept {
    if (const Piece piece = std::exchange(piece_, {})) pool_->free(piece, stream);
  }
  const Piece& get() const { return piece_; }
  explicit operator bool() const { return static_cast<bool>(piece_); }

 private:
  MemoryPool* pool_ = nullptr;
  Piece piece_;
};

inline constexpr uint32_t kDeviceDomain = 1;
inline constexpr uint32_t kStagingDomain = 2;
inline constexpr uint64_t kAlignment = 256;  // of all pieces, in bytes

/// What the host's tenon_buffer is.
struct Buffer {
  OwnedPiece piece;
  bool is_staging = false;
  std::weak_ptr<StreamHandle> stream;  // for whose work it was allocated
};
inline tenon_buffer* to_border(Buffer* buffer) { return reinterpret_cast<tenon_buffer*>(buffer); }
inline Buffer* from_border(tenon_buffer* buffer) { return reinterpret_cast<Buffer*>(buffer); }

}  // namespace tenon::cuda
