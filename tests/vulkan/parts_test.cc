// Parts of the Vulkan provider that need no device: the free parts of a block, and which work waits for which.
#include <gtest/gtest.h>

#include <random>

#include "hazards.h"
#include "holes.h"

namespace tenon::vulkan {
namespace {

TEST(VulkanHoles, TheSmallestThatFitsIsTakenAndNeighboursJoin) {
  Holes holes(100);
  EXPECT_EQ(holes.take(10), 0u);
  EXPECT_EQ(holes.take(20), 10u);
  EXPECT_EQ(holes.take(30), 30u);
  EXPECT_EQ(holes.take(41), std::nullopt);
  holes.give(10, 20);
  EXPECT_EQ(holes.take(15), 10u) << "the hole of 20, not that of 40";
  EXPECT_EQ(holes.take(5), 25u);
  EXPECT_EQ(holes.take(40), 60u);
  EXPECT_EQ(holes.take(1), std::nullopt);
  holes.give(25, 5);
  holes.give(0, 10);
  holes.give(10, 15);  // between two holes
  EXPECT_EQ(holes.take(30), 0u);
  EXPECT_FALSE(holes.is_all_free());
  for (const auto& [offset, bytes] : {std::pair<uint64_t, uint64_t>{60, 40}, {0, 30}, {30, 30}})
    holes.give(offset, bytes);
  EXPECT_TRUE(holes.is_all_free());
  EXPECT_EQ(holes.take(100), 0u);
}

TEST(VulkanHoles, DrawnRequestsNeverOverlap) {
  std::mt19937 random(5);
  Holes holes(4096);
  std::vector<std::pair<uint64_t, uint64_t>> taken;
  std::vector<bool> used(4096, false);
  for (int turn = 0; turn < 3000; ++turn) {
    if (random() % 2 == 0 || taken.empty()) {
      const uint64_t bytes = 1 + random() % 300;
      const std::optional<uint64_t> offset = holes.take(bytes);
      if (!offset) continue;
      for (uint64_t i = *offset; i < *offset + bytes; ++i) {
        ASSERT_FALSE(used.at(i)) << "turn " << turn;
        used[i] = true;
      }
      taken.emplace_back(*offset, bytes);
    } else {
      std::swap(taken[random() % taken.size()], taken.back());
      const auto [offset, bytes] = taken.back();
      taken.pop_back();
      for (uint64_t i = offset; i < offset + bytes; ++i) used[i] = false;
      holes.give(offset, bytes);
    }
  }
  for (const auto& [offset, bytes] : taken) holes.give(offset, bytes);
  EXPECT_TRUE(holes.is_all_free());
}

const auto kOne = reinterpret_cast<VkBuffer>(uint64_t{1}), kTwo = reinterpret_cast<VkBuffer>(uint64_t{2});

Access reads(VkBuffer buffer, uint64_t offset, uint64_t bytes) { return {{buffer, offset, bytes}, false}; }
Access writes(VkBuffer buffer, uint64_t offset, uint64_t bytes) { return {{buffer, offset, bytes}, true}; }

TEST(VulkanHazards, OnlyWorkOnTheSameBytesWaits) {
  const Access write_low = writes(kOne, 0, 64), read_low = reads(kOne, 0, 64), read_end = reads(kOne, 63, 1),
               read_high = reads(kOne, 64, 64), write_high = writes(kOne, 64, 64),
               write_other = writes(kTwo, 0, 64);
  const auto need = [](Hazards& hazards, const Access& access) { return hazards.need_barrier({&access, 1}); };
  Hazards hazards;
  EXPECT_FALSE(need(hazards, write_low)) << "the first";
  EXPECT_FALSE(need(hazards, read_high)) << "the next byte";
  EXPECT_FALSE(need(hazards, write_other)) << "another buffer";
  EXPECT_TRUE(need(hazards, read_end)) << "a read of what was written";
  EXPECT_FALSE(need(hazards, read_low)) << "two reads, after the barrier";
  EXPECT_FALSE(need(hazards, write_other)) << "the barrier covers all work before it";
  EXPECT_TRUE(need(hazards, write_other)) << "two writes";
  EXPECT_FALSE(need(hazards, read_high));
  EXPECT_TRUE(need(hazards, write_high)) << "a write of what was read";
  hazards.clear();
  EXPECT_FALSE(need(hazards, write_high));
}

}  // namespace
}  // namespace tenon::vulkan
