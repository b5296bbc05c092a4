#include "host/device/tenon_run.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace tenon::runtime {
namespace {

TEST(ScratchArena, PiecesAreAlignedAndApart) {
  ScratchArena arena;
  for (int round = 0; round < 3; ++round) {
    std::set<void*> seen;
    for (const uint64_t bytes : {1, 64, 100, 4096, 0}) {
      void* memory = arena.allocate(bytes);
      ASSERT_NE(memory, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
      std::memset(memory, round, bytes);
      EXPECT_TRUE(seen.insert(memory).second);
    }
    arena.reset();
  }
}

TEST(ScratchArena, TheSecondRoundAllocatesNothing) {
  ScratchArena arena;
  arena.allocate(1000);
  arena.allocate(5000);
  arena.reset();
  const uint64_t capacity = arena.capacity();
  EXPECT_GE(capacity, 6000u);
  auto* first = static_cast<std::byte*>(arena.allocate(1000));
  auto* second = static_cast<std::byte*>(arena.allocate(5000));
  EXPECT_EQ(second, first + 1024);
  arena.reset();
  EXPECT_EQ(arena.capacity(), capacity);
}

TEST(ScratchArena, AnAbsurdSizeGivesNothing) {
  ScratchArena arena;
  EXPECT_EQ(arena.allocate(UINT64_MAX), nullptr);
  EXPECT_EQ(arena.allocate(uint64_t{1} << 60), nullptr);
}

TEST(ScratchArena, ManyThreads) {
  ScratchArena arena;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    std::atomic<int> bad = 0;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        std::vector<unsigned char*> mine;
        for (int i = 0; i < 50; ++i) {
          mine.push_back(static_cast<unsigned char*>(arena.allocate(64)));
          std::memset(mine.back(), t, 64);
        }
        for (const unsigned char* m : mine) bad += m[0] != t || m[63] != t;
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(bad.load(), 0);
    arena.reset();
  }
}

}  // namespace
}  // namespace tenon::runtime
