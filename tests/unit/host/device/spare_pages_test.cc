#include "host/device/spare_pages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/base/pages.h"
#include "host/base/sanitizer.h"
#include "host/device/shared_copies.h"

namespace tenon::runtime {
namespace {

constexpr size_t kUnit = size_t{64} << 10;

std::byte* pages_of(size_t units) { return static_cast<std::byte*>(map_pages(units * kUnit)); }

TEST(SparePages, GivesAPartOfTheSmallestRangeThatIsLargeEnough) {
  SparePages spare;
  std::byte* const block = pages_of(16);  // one block, so that the ranges lie apart
  spare.give(block, 8 * kUnit);
  spare.give(block + 9 * kUnit, kUnit);
  spare.give(block + 11 * kUnit, 4 * kUnit);
  EXPECT_EQ(spare.take(9 * kUnit), nullptr);
  EXPECT_EQ(spare.take(3 * kUnit), block + 11 * kUnit);
  unmap_pages(block + 8 * kUnit, kUnit);
  unmap_pages(block + 10 * kUnit, 4 * kUnit);
  unmap_pages(block + 15 * kUnit, kUnit);
}

TEST(SparePages, JoinsWhatLiesTogether) {
  SparePages spare;
  std::byte* const block = pages_of(6);
  std::memset(block, 7, 6 * kUnit);
  spare.give(block + 2 * kUnit, 2 * kUnit);
  spare.give(block, kUnit);
  EXPECT_EQ(spare.take(3 * kUnit), nullptr) << "a page between them is missing";
  spare.give(block + 4 * kUnit, 2 * kUnit);
  spare.give(block + kUnit, kUnit);
  EXPECT_EQ(spare.take(6 * kUnit), block);
  EXPECT_EQ(block[6 * kUnit - 1], std::byte{7}) << "the pages stay filled";
  EXPECT_EQ(spare.take(kUnit), nullptr) << "a range is given once";
  unmap_pages(block, 6 * kUnit);
}

TEST(SparePages, TheRestOfARangeIsGivenNext) {
  SparePages spare;
  std::byte* const block = pages_of(4);
  spare.give(block, 4 * kUnit);
  EXPECT_EQ(spare.take(kUnit), block);
  EXPECT_EQ(spare.take(3 * kUnit), block + kUnit);
  EXPECT_EQ(spare.take(kUnit), nullptr);
  unmap_pages(block, 4 * kUnit);
}

TEST(SparePages, KeepsNoMoreThanItsLimit) {
  SparePages spare;
  constexpr size_t kUnits = SparePages::kMost / kUnit;
  spare.give(pages_of(kUnits + 1), (kUnits + 1) * kUnit);
  EXPECT_EQ(spare.take(kUnit), nullptr) << "too much by itself";
  // One block, so that what is kept can lie apart.
  std::byte* const block = pages_of(2 * kUnits);
  spare.give(block, 2 * kUnit);
  spare.give(block + 4 * kUnit, 3 * kUnit);
  std::byte* const large = block + 8 * kUnit;
  spare.give(large, (kUnits - 4) * kUnit);
  EXPECT_EQ(spare.take(3 * kUnit), block + 4 * kUnit) << "only the smallest made room";
  EXPECT_EQ(spare.take(2 * kUnit), large);
  unmap_pages(block + 2 * kUnit, 8 * kUnit);
  unmap_pages(large + (kUnits - 4) * kUnit, (kUnits - 4) * kUnit);
}

TEST(SparePages, HasNothingAfterItIsCleared) {
  SparePages spare;
  std::byte* const block = pages_of(4);
  spare.give(block, kUnit);
  spare.give(block + 2 * kUnit, 2 * kUnit);
  spare.clear();
  EXPECT_EQ(spare.take(kUnit), nullptr);
  unmap_pages(block + kUnit, kUnit);
}

TEST(SparePages, ACopyTakesThePagesOfAFreedOne) {
  SparePages::get().clear();
  const std::vector<std::byte> many(size_t{3} << 20, std::byte{1}), few(size_t{200} << 10, std::byte{2});
  const void* before = Copy::of(many)->data();
  const std::shared_ptr<const Copy> first = Copy::of(few);
  const std::shared_ptr<const Copy> second = Copy::of(few);
  if (kHostSanitizer == TENON_SANITIZER_NONE) {  // a sanitizer watches only the heap, so copies are there
    EXPECT_EQ(first->data(), before);
    EXPECT_EQ(second->data(), first->data() + 4 * kUnit);
  }
  EXPECT_TRUE(first->holds(few) && second->holds(few));
  SparePages::get().clear();
}

}  // namespace
}  // namespace tenon::runtime
