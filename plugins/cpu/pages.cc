#include "pages.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>

#include <mutex>

#include "tenon/ep/device/own_process.hpp"
#include "tenon/ep/negotiate.hpp"
#endif

namespace tenon::cpu {
namespace {

constexpr uint64_t kLine = 64;

uint64_t rounded_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

#if defined(__linux__)
constexpr uint64_t kPage = 4096;  // the least that systems have; a mapping is rounded up to theirs anyway
constexpr uint64_t kHugePage = uint64_t{2} << 20;

/// A mapping at a multiple of huge pages, and in them where the system has them. Weights are read from one end to the other: with small
/// pages each piece needs another translation of its address, and processors do not fetch the next piece ahead.
char* map(uint64_t bytes) {
  void* const all =
      ::mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<char*>(all);
  const uint64_t before =
      rounded_up(reinterpret_cast<uintptr_t>(begin), kHugePage) - reinterpret_cast<uintptr_t>(begin);
  if (before != 0) ::munmap(begin, before);
  if (before != kHugePage) ::munmap(begin + before + bytes, kHugePage - before);
  static_cast<void>(::madvise(begin + before, bytes / kHugePage * kHugePage, MADV_HUGEPAGE));
  return begin + before;
}

/// Blocks that are too small for huge pages of their own, and share them. Chunks of addresses are given out from the beginning to the
/// end; only what is used of them takes memory. Thread-safe.
class Arena {
 public:
  static constexpr uint64_t kLeast = uint64_t{64} << 10;

  /// Whether blocks of that size may be allocated. Not after a fork, as a thread that the child does not have may hold the lock; nor with
  /// a sanitizer, which could not tell blocks apart.
  static bool takes(uint64_t bytes) {
    return bytes >= kLeast && bytes < kHugePage && ep::own_sanitizer() == TENON_SANITIZER_NONE &&
           ep::OwnProcess::current() == first_process;
  }
  void* allocate(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (chunks_ == nullptr || chunks_->used + bytes > kChunk) add_chunk();
    Chunk& chunk = *chunks_;
    void* const out = chunk.begin + chunk.used;
    chunk.used += bytes;
    ++chunk.blocks;
    return out;
  }
  void free(char* block, uint64_t bytes) {
    if (ep::OwnProcess::current() != first_process) return;
    const std::lock_guard lock(mutex_);
    Chunk** at = &chunks_;
    while (block < (*at)->begin || block >= (*at)->begin + kChunk) at = &(*at)->next;
    Chunk& chunk = **at;
    if (--chunk.blocks == 0) {
      ::munmap(chunk.begin, kChunk);
      *at = chunk.next;
      delete &chunk;
    } else if (block + bytes == chunk.begin + chunk.used) {
      chunk.used -= bytes;  // the next block takes its place
    } else {
      char* const first = block + (rounded_up(reinterpret_cast<uintptr_t>(block), kPage) -
                                   reinterpret_cast<uintptr_t>(block));
      const char* const end = block + bytes;
      if (end - first >= static_cast<ptrdiff_t>(kPage))
        ::madvise(first, static_cast<uint64_t>(end - first) / kPage * kPage, MADV_DONTNEED);
    }
  }

 private:
  static constexpr uint64_t kChunk = 16 * kHugePage;
  static const int64_t first_process;
  struct Chunk {
    char* begin;
    Chunk* next;
    uint64_t used = 0, blocks = 0;
  };

  void add_chunk() {
    char* const begin = map(kChunk);
    auto* const chunk = new (std::nothrow) Chunk{begin, chunks_};
    if (chunk == nullptr) {
      ::munmap(begin, kChunk);
      throw std::bad_alloc();
    }
    chunks_ = chunk;
  }

  std::mutex mutex_;
  Chunk* chunks_ = nullptr;  // those in use; the first one gives out blocks
};
const int64_t Arena::first_process = ep::OwnProcess::current();
constinit Arena arena;  // empty when the library goes: all blocks are freed by then
#endif

}  // namespace

Pages::Pages(uint64_t bytes) {
#if defined(__linux__)
  bytes_ = rounded_up(bytes, kLine);
  if (Arena::takes(bytes_)) {
    source_ = Source::kArena;
    data_ = arena.allocate(bytes_);
    return;
  }
  if (bytes_ >= kHugePage) {
    source_ = Source::kMapping;
    bytes_ = rounded_up(bytes, kPage);
    data_ = map(bytes_);
    return;
  }
#endif
  data_ = std::aligned_alloc(kLine, std::max(kLine, rounded_up(bytes, kLine)));
  if (data_ == nullptr) throw std::bad_alloc();
}

Pages::~Pages() {
#if defined(__linux__)
  if (source_ == Source::kArena) arena.free(static_cast<char*>(data_), bytes_);
  if (source_ == Source::kMapping) ::munmap(data_, bytes_);
#endif
  if (source_ == Source::kHeap) std::free(data_);
}

}  // namespace tenon::cpu
