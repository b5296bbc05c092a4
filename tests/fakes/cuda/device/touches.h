// Which bytes of device memory a piece of work has read and written.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "kernel_abi.h"

namespace fake_cuda::device {

/// Bytes [begin, end), with TouchKind bits. Lists are sorted and do not overlap.
struct Touch {
  uint64_t begin = 0, end = 0;
  int kinds = 0;
};
using TouchList = std::vector<Touch>;

/// The first bytes that are in both lists where one of them writes, or one is atomic and the other is not. False if there are
/// none.
bool find_conflict(const TouchList& one, const TouchList& other, Touch* of_one, Touch* of_other);

/// Collects what a kernel does.
class Touches {
 public:
  void add(uint64_t address, uint64_t bytes, int kind);
  /// What has been added since the last call.
  TouchList take();

 private:
  static constexpr uint64_t kPageBytes = 4096;
  struct Page {
    std::array<std::array<uint64_t, kPageBytes / 64>, 3> bits{};  // of kRead, kWrite, kAtomic
  };
  Page& page(uint64_t number);
  static void append_word(TouchList& list, const Page& page, uint64_t begin, uint64_t word);

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  std::vector<std::unique_ptr<Page>> spare_;
  uint64_t last_number_ = ~0ULL;
  Page* last_ = nullptr;
};

/// Where the calling thread's kernel is recorded. Null: nowhere.
extern __thread Touches* g_touches;

}  // namespace fake_cuda::device
