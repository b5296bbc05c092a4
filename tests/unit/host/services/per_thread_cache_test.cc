#include "host/services/per_thread_cache.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tenon::runtime {
namespace {

TEST(PerThreadCache, GivesBackWhatWasPut) {
  PerThreadCache<int> cache;
  EXPECT_EQ(cache.take(), nullptr);
  EXPECT_EQ(cache.put(std::make_unique<int>(1)), nullptr);
  EXPECT_EQ(*cache.put(std::make_unique<int>(2)), 1);
  EXPECT_EQ(*cache.take(), 2);
  EXPECT_EQ(cache.take(), nullptr);
}

TEST(PerThreadCache, NoObjectIsInTwoHands) {
  PerThreadCache<std::atomic<int>> cache;
  std::atomic<int> clashes{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 2000; ++turn) {
        auto mine = cache.take();
        if (mine == nullptr) mine = std::make_unique<std::atomic<int>>(0);
        clashes += mine->exchange(1) != 0;
        mine->store(0);
        cache.put(std::move(mine)).reset();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clashes, 0);
}

}  // namespace
}  // namespace tenon::runtime
