// How long a failed Run waits for work that is still under way.
#include "host/exec/run_control.h"

#include <gtest/gtest.h>

namespace tenon::runtime {
namespace {

constexpr int64_t kMs = 1'000'000;

/// The wait that is left now, in milliseconds rounded up.
int64_t left_ms(RunControl& control) { return (control.drain_end() - now_ns() + kMs - 1) / kMs; }

TEST(RunControl, WithoutAStopAFailedRunWaitsAsLongAsItTakes) {
  RunState state;
  ASSERT_TRUE(state.begin(nullptr, 0).ok());
  EXPECT_EQ(state.control.drain_end(), INT64_MAX);
  state.end();
}

TEST(RunControl, AfterTheDeadlineWorkGetsHalfOfTheTimeAgain) {
  RunState state;
  ASSERT_TRUE(state.begin(nullptr, 400 * kMs).ok());
  state.control.stop.deadline_ns = now_ns();  // it has passed
  EXPECT_LE(left_ms(state.control), 200);
  EXPECT_GT(left_ms(state.control), 100);
  const int64_t end = state.control.drain_end();
  EXPECT_EQ(state.control.drain_end(), end) << "one end for all graphs of the Run";
  state.end();
  ASSERT_TRUE(state.begin(nullptr, 10 * kMs).ok());
  state.control.stop.deadline_ns = now_ns();
  EXPECT_GT(left_ms(state.control), 10) << "at least 50 ms";
  EXPECT_LE(left_ms(state.control), 50);
  state.end();
}

TEST(RunControl, AFailureBeforeTheDeadlineLeavesTheRestOfTheTime) {
  RunState state;
  ASSERT_TRUE(state.begin(nullptr, 10'000 * kMs).ok());
  EXPECT_GT(left_ms(state.control), 10'000);
  EXPECT_LE(left_ms(state.control), 15'000);
  state.end();
}

TEST(RunControl, ACancelledRunWaitsASecondAtMost) {
  const uint32_t cancelled = 1;
  RunState state;
  ASSERT_TRUE(state.begin(&cancelled, 0).ok());
  EXPECT_LE(left_ms(state.control), 1000);
  EXPECT_GT(left_ms(state.control), 500);
  state.end();
}

}  // namespace
}  // namespace tenon::runtime
