// Points, waits and recordings of streams, on the fake accelerator, which does not begin work before it is flushed and
// says what the host does wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/stop.h"
#include "host/device/transfer.h"
#include "tests/unit/host/device/fake_provider.h"

namespace tenon::runtime {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kInt = sizeof(int);

class StreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = test::make_accelerator();
    ASSERT_TRUE(made.ok()) << made.error().to_string();
    instance = *made;
    stream = *instance->make_stream();
    buffer = *Buffer::allocate(*instance->device().domains()[0], kInt);
  }
  Place there() const { return Place::of(buffer, 0); }
  /// To the device and back.
  Status round_trip(int* from, int* back, const Stream& on) const {
    RETURN_IF_ERROR(copy(there(), Place::host(from), kInt, on.handle()));
    return copy(Place::host(back), there(), kInt, on.handle());
  }
  /// Enqueues work that fails when it is done.
  void enqueue_failure(const Stream& on) {
    ASSERT_TRUE(copy(there(), Place::host(&value), kInt + 1, on.handle()).ok());
  }
  void submit_and_wait(Stream& on) {
    const uint64_t point = *on.point();
    ASSERT_TRUE(on.flush().ok());
    const Status status = on.wait(point);
    ASSERT_TRUE(status.ok()) << status.to_string();
  }

  int value = 42, back = 0;
  std::shared_ptr<Instance> instance;
  Buffer buffer;
  Stream stream;
};

TEST_F(StreamTest, WorkBeginsWithTheFlushAndIsDoneAtThePoint) {
  ASSERT_TRUE(round_trip(&value, &back, stream).ok());
  EXPECT_EQ(back, 0);
  const uint64_t point = *stream.point();
  EXPECT_GE(point, 1u);
  EXPECT_FALSE(stream.wait(point).ok());  // nobody flushed
  ASSERT_TRUE(stream.flush().ok());
  ASSERT_TRUE(stream.wait(point).ok());
  EXPECT_EQ(back, 42);
  EXPECT_GT(*stream.point(), point);
}

TEST_F(StreamTest, APointThatTheStreamDoesNotHaveIsRefused) {
  EXPECT_EQ(stream.wait(1).code(), StatusCode::kInvalidArgument);
  const uint64_t point = *stream.point();
  ASSERT_TRUE(stream.flush().ok());
  EXPECT_TRUE(stream.wait(point).ok());
  EXPECT_EQ(stream.wait(point + 1).code(), StatusCode::kInvalidArgument);
}

TEST_F(StreamTest, AWaitEndsWithItsTime) {
  const auto slow = *test::make_accelerator("npu:0", "latency_us = 100000");
  Stream late = *slow->make_stream();
  ASSERT_TRUE(round_trip(&value, &back, late).ok());
  const uint64_t point = *late.point();
  ASSERT_TRUE(late.flush().ok());
  EXPECT_EQ(late.wait(point, 0).code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(late.wait(point, 1'000'000).code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(late.wait(point).ok());
  EXPECT_TRUE(late.wait(point, 0).ok());
}

TEST_F(StreamTest, AFailureOfWorkIsReportedOnceWithThePlaceOfTheWork) {
  const uint64_t before = *stream.point();
  enqueue_failure(stream);
  const uint64_t after = *stream.point();
  ASSERT_TRUE(stream.flush().ok());
  const Status status = stream.wait(after);
  EXPECT_THAT(status.to_string(), HasSubstr("the host named bytes 0 to 5 of a buffer of 4"));
  EXPECT_THAT(std::string(status.where()), HasSubstr("a copy of 5 bytes from host memory"));
  EXPECT_TRUE(stream.wait(before).ok()) << "the failure came later";
  EXPECT_TRUE(stream.wait(after).ok()) << "the failure was reported";
  ASSERT_TRUE(round_trip(&value, &back, stream).ok());
  submit_and_wait(stream);
  EXPECT_EQ(back, 42);
}

TEST_F(StreamTest, WorkOfAnotherStreamIsDoneBefore) {
  for (const char* device : {"npu:0", "npu:1"}) {
    SCOPED_TRACE(device);
    const auto other = *test::make_accelerator(device, "latency_us = 0");
    Stream second = *other->make_stream();
    int first_back = 0, second_back = 0;
    ASSERT_TRUE(round_trip(&value, &first_back, stream).ok());
    const uint64_t point = *stream.point();
    ASSERT_TRUE(stream.flush().ok());
    ASSERT_TRUE(second.wait_for(stream, point).ok());
    const Buffer target = *Buffer::allocate(*other->device().domains()[0], kInt);
    // Reads what the first stream writes.
    ASSERT_TRUE(copy(Place::of(target, 0), Place::host(&first_back), kInt, second.handle()).ok());
    ASSERT_TRUE(copy(Place::host(&second_back), Place::of(target, 0), kInt, second.handle()).ok());
    submit_and_wait(second);
    EXPECT_EQ(second_back, 42);
  }
}

TEST_F(StreamTest, AFailureGoesToTheStreamsThatWait) {
  Stream second = *instance->make_stream(), third = *instance->make_stream();
  enqueue_failure(stream);
  const uint64_t first = *stream.point();
  ASSERT_TRUE(stream.flush().ok());
  ASSERT_TRUE(second.wait_for(stream, first).ok());
  const uint64_t middle = *second.point();
  ASSERT_TRUE(second.flush().ok());
  ASSERT_TRUE(third.wait_for(second, middle).ok());
  const uint64_t last = *third.point();
  ASSERT_TRUE(third.flush().ok());
  EXPECT_THAT(std::string(third.wait(last).where()), HasSubstr("a copy of 5 bytes from host memory"));
  EXPECT_TRUE(second.wait(middle).ok()) << "reported already";
  EXPECT_TRUE(stream.wait(first).ok()) << "reported already";
}

TEST_F(StreamTest, AWaitForWorkThatNobodyFlushedIsALateFailure) {
  Stream second = *instance->make_stream();
  ASSERT_TRUE(round_trip(&value, &back, stream).ok());
  ASSERT_TRUE(second.wait_for(stream, *stream.point()).ok());
  const uint64_t point = *second.point();
  ASSERT_TRUE(second.flush().ok());
  EXPECT_EQ(second.wait(point).code(), StatusCode::kInvalidArgument);
}

TEST_F(StreamTest, ARecordingIsDoneEachTimeThatItRuns) {
  ASSERT_TRUE(instance->has_recordings());
  ASSERT_TRUE(stream.record_begin().ok());
  ASSERT_TRUE(round_trip(&value, &back, stream).ok());
  Recording recording = *stream.record_end();
  submit_and_wait(stream);
  EXPECT_EQ(back, 0) << "recorded and not done";
  for (const int next : {7, 8}) {
    value = next;
    ASSERT_TRUE(recording.run(stream).ok());
    submit_and_wait(stream);
    EXPECT_EQ(back, next);
  }
  Stream second = *instance->make_stream();
  value = 9;
  ASSERT_TRUE(recording.run(second).ok());
  submit_and_wait(second);
  EXPECT_EQ(back, 9);
}

TEST_F(StreamTest, AStreamThatMeasuresGivesItsWorkOnce) {
  ASSERT_TRUE(instance->has_times());
  Stream timed = *instance->make_stream(true);
  const int64_t begin = steady_now_ns();
  ASSERT_TRUE(copy(there(), Place::host(&value), kInt, timed.handle(), 5).ok());
  ASSERT_TRUE(copy(Place::host(&back), there(), kInt, timed.handle(), 6).ok());
  EXPECT_TRUE(timed.times()->empty()) << "not done yet";
  submit_and_wait(timed);
  const int64_t end = steady_now_ns();
  const std::vector<WorkTime> times = *timed.times();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].work_id, 5u);
  EXPECT_EQ(times[1].work_id, 6u);
  EXPECT_THAT(times[0].name, HasSubstr("a copy of 4 bytes from host memory"));
  EXPECT_LE(begin, times[0].begin_ns);
  EXPECT_LE(times[0].end_ns, times[1].begin_ns);
  EXPECT_LE(times[1].end_ns, end);
  EXPECT_TRUE(timed.times()->empty()) << "given already";
}

TEST_F(StreamTest, AStreamThatDoesNotMeasureGivesNoTimes) {
  ASSERT_TRUE(round_trip(&value, &back, stream).ok());
  submit_and_wait(stream);
  EXPECT_TRUE(stream.times()->empty());
}

TEST_F(StreamTest, ARecordingThatIsAtWorkIsNotRun) {
  ASSERT_TRUE(stream.record_begin().ok());
  ASSERT_TRUE(round_trip(&value, &back, stream).ok());
  Recording recording = *stream.record_end();
  ASSERT_TRUE(recording.run(stream).ok());
  EXPECT_THAT(recording.run(stream).to_string(), HasSubstr("whose last run is still at work"));
  submit_and_wait(stream);
}

TEST_F(StreamTest, ADroppedRecordingLeavesNothing) {
  ASSERT_TRUE(stream.record_begin().ok());
  EXPECT_FALSE(stream.flush().ok()) << "nothing but work while the stream records";
  ASSERT_TRUE(round_trip(&value, &back, stream).ok());
  ASSERT_TRUE(stream.record_drop().ok());
  submit_and_wait(stream);
  EXPECT_EQ(back, 0);
}

}  // namespace
}  // namespace tenon::runtime
