#include "host/services/alarm.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <thread>

#include "core/base/stop.h"

namespace tenon::runtime {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

bool is_set(const Alarm& alarm) { return __atomic_load_n(alarm.word(), __ATOMIC_RELAXED) != 0; }

bool rings_within(const Alarm& alarm, int64_t ns) {
  const int64_t end = steady_after_ns(ns);
  while (steady_now_ns() < end) {
    if (is_set(alarm)) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return false;
}

TEST(Alarm, RingsAtItsTimeAndNotBefore) {
  Alarm late, soon;
  ASSERT_TRUE(late.set(steady_after_ns(3600'000 * kMillisecond), nullptr).ok());
  ASSERT_TRUE(soon.set(steady_after_ns(30 * kMillisecond), nullptr).ok());
  EXPECT_TRUE(rings_within(soon, 10'000 * kMillisecond));
  EXPECT_FALSE(rings_within(late, 20 * kMillisecond));
}

TEST(Alarm, MayBeSetAgain) {
  Alarm alarm;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(alarm.set(steady_after_ns(5 * kMillisecond), nullptr).ok());
    EXPECT_TRUE(rings_within(alarm, 10'000 * kMillisecond));
    ASSERT_TRUE(alarm.set(INT64_MAX, nullptr).ok());
    EXPECT_FALSE(rings_within(alarm, 10 * kMillisecond));
  }
}

TEST(Alarm, FollowsAnotherWord) {
  uint32_t other = 0;
  Alarm alarm;
  ASSERT_TRUE(alarm.set(INT64_MAX, &other).ok());
  EXPECT_FALSE(rings_within(alarm, 10 * kMillisecond));
  __atomic_store_n(&other, 1u, __ATOMIC_RELAXED);
  EXPECT_TRUE(rings_within(alarm, 10'000 * kMillisecond));
  ASSERT_TRUE(alarm.set(INT64_MAX, &other).ok());
  EXPECT_TRUE(is_set(alarm)) << "what is set already is seen at once";
}

TEST(Alarm, ManyThreadsSetTheirOwn) {
  std::deque<std::thread> threads;
  std::atomic<int> missed{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        Alarm alarm;
        const bool rings = i % 20 == 0;
        if (!alarm.set(rings ? steady_after_ns(kMillisecond) : INT64_MAX, nullptr).ok()) ++missed;
        if (rings && !rings_within(alarm, 10'000 * kMillisecond)) ++missed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(missed, 0);
}

TEST(Alarm, AChildHasAClockOfItsOwn) {
  Alarm parents;
  ASSERT_TRUE(parents.set(INT64_MAX, nullptr).ok());
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);  // a child that hangs is a failure, too
    Alarm own;
    const bool good =
        own.set(steady_after_ns(5 * kMillisecond), nullptr).ok() && rings_within(own, 10'000 * kMillisecond);
    parents.clear();
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Stop, SumsDoNotOverflow) {
  EXPECT_EQ(steady_after_ns(INT64_MAX), INT64_MAX);
  EXPECT_GT(steady_after_ns(1000), 1000);
  const int64_t past = steady_after_ns(-1);
  EXPECT_LE(past, steady_now_ns());
}

TEST(Stop, ScopesNestAndSayWhatWasGoingOn) {
  EXPECT_TRUE(check_stop("tea was made").ok());
  const uint32_t set = 1;
  Stop outer, inner;
  outer.word = &set;
  inner.deadline_ns = 1;
  inner.whose = "limits.load_time";
  const StopScope around(&outer);
  EXPECT_EQ(check_stop("tea was made").to_string(), "CANCELLED: the Run was cancelled while tea was made");
  {
    const StopScope within(&inner);
    EXPECT_EQ(check_stop("tea was made").to_string(),
              "DEADLINE_EXCEEDED: limits.load_time has passed while tea was made");
    EXPECT_EQ(or_stopped(internal_error("odd"), "").kind(), ErrorKind::kDeadline);
  }
  EXPECT_EQ(check_stop("").kind(), ErrorKind::kCancelled);
}

}  // namespace
}  // namespace tenon::runtime
