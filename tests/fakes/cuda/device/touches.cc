#include "touches.h"

#include <algorithm>
#include <bit>

#include "protocol.h"

namespace fake_cuda::device {

__thread Touches* g_touches = nullptr;

namespace {

bool conflicts(int one, int other) {
  const int both = one | other;
  if ((both & kWrite) != 0) return true;
  return (both & kAtomic) != 0 && (both & kRead) != 0;
}

void append(TouchList& list, uint64_t begin, uint64_t end, int kinds) {
  if (!list.empty() && list.back().end == begin && list.back().kinds == kinds) {
    list.back().end = end;
  } else {
    list.push_back({begin, end, kinds});
  }
}

}  // namespace

bool find_conflict(const TouchList& one, const TouchList& other, Touch* of_one, Touch* of_other) {
  size_t i = 0, j = 0;
  while (i < one.size() && j < other.size()) {
    if (one[i].end <= other[j].begin) {
      ++i;
    } else if (other[j].end <= one[i].begin) {
      ++j;
    } else if (conflicts(one[i].kinds, other[j].kinds)) {
      *of_one = one[i];
      *of_other = other[j];
      return true;
    } else if (one[i].end < other[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return false;
}

Touches::Page& Touches::page(uint64_t number) {
  if (number != last_number_) {
    std::unique_ptr<Page>& slot = pages_[number];
    if (slot == nullptr && !spare_.empty()) {
      slot = std::move(spare_.back());
      spare_.pop_back();
      *slot = Page();
    } else if (slot == nullptr) {
      slot = std::make_unique<Page>();
    }
    last_ = slot.get();
    last_number_ = number;
  }
  return *last_;
}

void Touches::add(uint64_t address, uint64_t bytes, int kind) {
  const int which = kind == kRead ? 0 : kind == kWrite ? 1 : 2;
  while (bytes > 0) {
    Page& at = page(address / kPageBytes);
    const uint64_t first = address % kPageBytes;
    const uint64_t count = std::min(bytes, kPageBytes - first);
    uint64_t* bits = at.bits[static_cast<size_t>(which)].data();
    for (uint64_t bit = first; bit < first + count;) {
      const uint64_t in_word = std::min(64 - bit % 64, first + count - bit);
      bits[bit / 64] |= (in_word == 64 ? ~0ULL : (1ULL << in_word) - 1) << bit % 64;
      bit += in_word;
    }
    address += count;
    bytes -= count;
  }
}

TouchList Touches::take() {
  std::vector<std::pair<uint64_t, const Page*>> touched;
  touched.reserve(pages_.size());
  for (const auto& [number, page] : pages_) touched.emplace_back(number, page.get());
  std::sort(touched.begin(), touched.end());
  TouchList list;
  for (const auto& [number, page] : touched) {
    for (uint64_t word = 0; word < kPageBytes / 64; ++word)
      append_word(list, *page, number * kPageBytes, word);
  }
  for (auto& [number, page] : pages_) spare_.push_back(std::move(page));
  pages_.clear();
  last_ = nullptr;
  last_number_ = ~0ULL;
  return list;
}

void Touches::append_word(TouchList& list, const Page& page, uint64_t begin, uint64_t word) {
  const uint64_t reads = page.bits[0][word], writes = page.bits[1][word], atomics = page.bits[2][word];
  if ((reads | writes | atomics) == 0) return;
  begin += word * 64;
  const auto kinds_of = [&](uint64_t bit) {
    return static_cast<int>((reads >> bit & 1) | (writes >> bit & 1) << 1 | (atomics >> bit & 1) << 2);
  };
  // Bits that are not as the one in front of them.
  const uint64_t changes = (reads ^ reads << 1) | (writes ^ writes << 1) | (atomics ^ atomics << 1);
  for (uint64_t bit = 0; bit < 64;) {
    const uint64_t later = bit == 63 ? 0 : changes >> (bit + 1) << (bit + 1);
    const uint64_t end = later == 0 ? 64 : static_cast<uint64_t>(std::countr_zero(later));
    if (kinds_of(bit) != 0) append(list, begin + bit, begin + end, kinds_of(bit));
    bit = end;
  }
}

}  // namespace fake_cuda::device

using fake_cuda::device::g_touches;

void fake_cuda_touch(const void* address, unsigned bytes, int kind) {
  const auto at = reinterpret_cast<uint64_t>(address);
  if (g_touches != nullptr && fake_cuda::is_device_address(at)) g_touches->add(at, bytes, kind);
}

// What the compiler calls before each access to memory when it is told to look for races (-fsanitize=thread).
#define TOUCHES(bytes)                                                                                       \
  extern "C" void __tsan_read##bytes(void* at) { fake_cuda_touch(at, bytes, fake_cuda::kRead); }             \
  extern "C" void __tsan_write##bytes(void* at) { fake_cuda_touch(at, bytes, fake_cuda::kWrite); }           \
  extern "C" void __tsan_unaligned_read##bytes(void* at) { fake_cuda_touch(at, bytes, fake_cuda::kRead); }   \
  extern "C" void __tsan_unaligned_write##bytes(void* at) { fake_cuda_touch(at, bytes, fake_cuda::kWrite); } \
  extern "C" void __tsan_volatile_read##bytes(void* at) { fake_cuda_touch(at, bytes, fake_cuda::kRead); }    \
  extern "C" void __tsan_volatile_write##bytes(void* at) { fake_cuda_touch(at, bytes, fake_cuda::kWrite); }
TOUCHES(1)
TOUCHES(2)
TOUCHES(4)
TOUCHES(8)
TOUCHES(16)
extern "C" void __tsan_read_range(void* at, unsigned long bytes) {
  fake_cuda_touch(at, static_cast<unsigned>(bytes), fake_cuda::kRead);
}
extern "C" void __tsan_write_range(void* at, unsigned long bytes) {
  fake_cuda_touch(at, static_cast<unsigned>(bytes), fake_cuda::kWrite);
}
extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_vptr_update(void**, void*) {}
extern "C" void __tsan_vptr_read(void**) {}
