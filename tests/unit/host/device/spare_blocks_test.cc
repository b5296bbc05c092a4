#include "host/device/spare_blocks.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "host/device/value.h"
#include "tenon/ep.h"

namespace tenon::runtime {
namespace {

void* block_of(size_t bytes) { return std::aligned_alloc(64, bytes); }

TEST(SpareBlocks, GivesABlockOfAboutTheSize) {
  SpareBlocks spare;
  void* const block = block_of(SpareBlocks::kLeast + 4096);
  spare.give(block, SpareBlocks::kLeast + 4096);
  size_t larger = SpareBlocks::kLeast + 8192, much_smaller = SpareBlocks::kLeast / 2,
         fits = SpareBlocks::kLeast;
  EXPECT_EQ(spare.take(&larger), nullptr);
  EXPECT_EQ(spare.take(&much_smaller), nullptr);
  EXPECT_EQ(spare.take(&fits), block);
  EXPECT_EQ(fits, SpareBlocks::kLeast + 4096);
  EXPECT_EQ(spare.take(&fits), nullptr) << "a block is given once";
  std::free(block);
}

TEST(SpareBlocks, KeepsNoMoreThanItsLimit) {
  SpareBlocks spare;
  constexpr size_t kEach = SpareBlocks::kMost / 4;
  void* first = nullptr;
  for (int i = 0; i < 5; ++i) {
    void* const block = block_of(kEach);
    first = i == 0 ? block : first;
    spare.give(block, kEach);
  }
  int kept = 0;
  for (size_t bytes = kEach; void* const block = spare.take(&bytes); bytes = kEach, ++kept) {
    EXPECT_NE(block, first) << "the oldest one made room";
    std::free(block);
  }
  EXPECT_EQ(kept, 4);
}

TEST(SpareBlocks, HasNothingAfterItIsCleared) {
  constexpr size_t kEach = SpareBlocks::kMost / 2;
  SpareBlocks spare;
  for (int i = 0; i < 3; ++i) spare.give(block_of(kEach), kEach);
  spare.clear();
  size_t bytes = kEach;
  EXPECT_EQ(spare.take(&bytes), nullptr);
}

TEST(SpareBlocks, AValueTakesTheMemoryOfAFreedOne) {
  const std::vector<int64_t> dims{333, 999};
  const void* before = nullptr;
  {
    const ValueRef value = *make_tensor(TENON_FLOAT32, dims);
    before = value->tensor.data;
  }
  const ValueRef value = *make_tensor(TENON_FLOAT32, dims);
  EXPECT_EQ(value->tensor.data, before);
}

}  // namespace
}  // namespace tenon::runtime
