#include "host/services/shared_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tenon::runtime {
namespace {

std::atomic<int> g_made{0}, g_released{0};

tenon_status make_slowly(void* context, void** out_object, tenon_error*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ++g_made;
  *out_object = context;
  return TENON_OK;
}
tenon_status make_nothing(void*, void**, tenon_error*) { return TENON_RESOURCE_EXHAUSTED; }
void count_release(void*) { ++g_released; }

class SharedCacheTest : public ::testing::Test {
 protected:
  void SetUp() override { g_made = g_released = 0; }
  SharedCache cache;
  int object = 0;
};

TEST_F(SharedCacheTest, MadeOnceWhileOthersWait) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      void* got = nullptr;
      wrong +=
          cache.get("key", make_slowly, &object, count_release, &got, nullptr) != TENON_OK || got != &object;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(g_made.load(), 1);
  for (int i = 0; i < 7; ++i) cache.release("key");
  EXPECT_EQ(g_released.load(), 0);
  cache.release("key");
  EXPECT_EQ(g_released.load(), 1);
  EXPECT_EQ(cache.size(), 0u);
  cache.release("key");
}

TEST_F(SharedCacheTest, AFailedMakeIsTriedAgainByTheNext) {
  void* got = nullptr;
  EXPECT_EQ(cache.get("key", make_nothing, nullptr, count_release, &got, nullptr), TENON_RESOURCE_EXHAUSTED);
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(cache.get("key", make_slowly, &object, count_release, &got, nullptr), TENON_OK);
  EXPECT_EQ(got, &object);
  EXPECT_EQ(g_released.load(), 0);
}

}  // namespace
}  // namespace tenon::runtime
