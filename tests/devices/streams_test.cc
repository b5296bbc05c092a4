// Points of streams: what a wait waits for, for how long, and whose errors it reports.
#include <chrono>
#include <thread>

#include "tests/devices/device_case.h"

namespace tenon::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int64_t kForever = -1, kOnlyAsk = 0;
const std::vector<float> kFloats{10, 20, 30};

/// The raw error of a wait, with its flags.
tenon_error error_of_wait(const Pick& pick, const Stream& stream, uint64_t point) {
  tenon_error error = make_error();
  EXPECT_NE(pick.instance().api().point_wait(stream.handle(), point, kForever, &error), TENON_OK);
  return error;
}

uint64_t flushed_point(Stream& stream) {
  const uint64_t point = *stream.point();
  EXPECT_TRUE(stream.flush().ok());
  return point;
}

TEST(DeviceStreams, PointsCountUpAndCanBeWaitedForInAnyOrder) {
  for (const std::string& memory : memories()) {
    const Pick pick(memory);
    Bound bound(pick);
    bound.set(kFloats, {2, 0});
    Stream stream = pick.make_stream();
    EXPECT_FALSE(stream.wait(1).ok()) << "no point yet";
    ASSERT_TRUE(bound.run(stream).ok());
    uint64_t last = 0;
    for (int n = 0; n < 100; ++n) {
      const uint64_t point = flushed_point(stream);
      ASSERT_GT(point, last);
      last = point;
    }
    ASSERT_TRUE(stream.wait(last).ok());
    EXPECT_EQ(bound.result(), (std::vector<float>{30, 10})) << memory;
    for (uint64_t point = 1; point <= last; ++point) EXPECT_TRUE(stream.wait(point, kOnlyAsk).ok()) << point;
    for (const uint64_t unknown : {uint64_t{0}, last + 1}) {
      const Status status = stream.wait(unknown);
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.to_string();
    }
  }
}

TEST(DeviceStreams, AWaitEndsWhenItsTimeIsOver) {
  const Pick pick("device");
  LongWork work(pick.device());
  Stream stream = pick.make_stream();
  work.enqueue(stream);
  const uint64_t point = flushed_point(stream);
  EXPECT_EQ(stream.wait(point, kOnlyAsk).code(), StatusCode::kDeadlineExceeded);
  const auto begin = steady_clock::now();
  EXPECT_EQ(stream.wait(point, 2'000'000).code(), StatusCode::kDeadlineExceeded);
  EXPECT_GE(steady_clock::now() - begin, milliseconds(2));
  EXPECT_TRUE(stream.wait(point, 60'000'000'000).ok());
  EXPECT_TRUE(stream.wait(point, kOnlyAsk).ok());
}

TEST(DeviceStreams, AnotherStreamWaitsOnTheDevice) {
  const Pick pick("device");
  LongWork work(pick.device());
  work.set_last(1);
  Stream first = pick.make_stream(), second = pick.make_stream();
  work.enqueue(first);
  const uint64_t point = flushed_point(first);
  ASSERT_TRUE(second.wait_for(first, point).ok());
  EXPECT_EQ(first.wait(point, kOnlyAsk).code(), StatusCode::kDeadlineExceeded) << "wait_for blocked";
  float last = 0;
  ASSERT_TRUE(pick.device().copy(Place::host(&last).location(), work.last(), 4, second.handle()).ok());
  ASSERT_TRUE(second.wait(flushed_point(second)).ok());
  EXPECT_EQ(last, 1);
  EXPECT_TRUE(first.wait(point, kOnlyAsk).ok());
  EXPECT_TRUE(second.wait_for(first, point).ok()) << "a point that is done";
  EXPECT_EQ(second.wait_for(first, point + 1).code(), StatusCode::kInvalidArgument);
}

TEST(DeviceStreams, AnErrorNamesItsWorkAndIsReportedAtItsPointOnce) {
  for (const std::string& memory : memories()) {
    const Pick pick(memory);
    Bound right(pick), wrong(pick);
    right.set(kFloats, {1, -1});
    wrong.set(kFloats, {1, 3});
    Stream stream = pick.make_stream();
    ASSERT_TRUE(right.run(stream).ok());
    const uint64_t before = flushed_point(stream);
    ASSERT_TRUE(wrong.run(stream).ok());
    const uint64_t after = flushed_point(stream);
    std::this_thread::sleep_for(
        milliseconds(200));  // the later work fails before anybody waits for the earlier
    EXPECT_TRUE(stream.wait(before).ok()) << memory << ": later work has failed";
    const tenon_error error = error_of_wait(pick, stream, after);
    EXPECT_EQ(error.code, TENON_OUT_OF_RANGE);
    EXPECT_EQ(error.flags, TENON_ERROR_ASYNC);
    EXPECT_STREQ(error.where, "node 'pick' (Gather)");
    EXPECT_STREQ(error.message, "index 3 is out of range for an axis of 3");
    EXPECT_TRUE(stream.wait(after).ok()) << "reported twice";
    wrong.set(kFloats, {2, 2});
    ASSERT_TRUE(wrong.run(stream).ok());
    EXPECT_TRUE(stream.wait(flushed_point(stream)).ok());
  }
}

TEST(DeviceStreams, AnErrorGoesToTheStreamThatWaited) {
  for (const std::string& memory : memories()) {
    const Pick pick(memory);
    Bound wrong(pick), later(pick);
    wrong.set(kFloats, {-4, 0});
    later.set(kFloats, {0, 7});
    Stream first = pick.make_stream(), second = pick.make_stream();
    ASSERT_TRUE(wrong.run(first).ok());
    const uint64_t point = flushed_point(first);
    ASSERT_TRUE(second.wait_for(first, point).ok());
    ASSERT_TRUE(later.run(first).ok());  // nobody on the second stream waits for this
    const uint64_t unrelated = flushed_point(first);
    std::this_thread::sleep_for(milliseconds(200));
    const tenon_error error = error_of_wait(pick, second, flushed_point(second));
    EXPECT_STREQ(error.message, "index -4 is out of range for an axis of 3");
    EXPECT_STREQ(error.where, "node 'pick' (Gather)");
    EXPECT_TRUE(second.wait(flushed_point(second)).ok());
    EXPECT_STREQ(error_of_wait(pick, first, unrelated).message, "index 7 is out of range for an axis of 3");
  }
}

}  // namespace
}  // namespace tenon::test
