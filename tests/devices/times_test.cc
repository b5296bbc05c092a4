// When commands ran, on the clock of the host.
#include <gmock/gmock.h>

#include "core/base/stop.h"
#include "host/services/trace.h"
#include "tests/devices/device_case.h"

namespace tenon::test {
namespace {

using runtime::WorkTime;
using testing::HasSubstr;

constexpr int64_t kClockNs = 1'000'000;  // what the two clocks may differ by

/// Waits for all work.
void finish(Stream& stream) {
  const uint64_t point = *stream.point();
  ASSERT_TRUE(stream.flush().ok());
  ASSERT_TRUE(stream.wait(point).ok());
}

void expect_between(const std::vector<WorkTime>& times, int64_t begin_ns, int64_t end_ns) {
  int64_t last = begin_ns - kClockNs;
  for (const WorkTime& work : times) {
    EXPECT_FALSE(work.name.empty());
    EXPECT_LE(last, work.begin_ns) << work.name;
    EXPECT_LE(work.begin_ns, work.end_ns) << work.name;
    last = work.begin_ns;
    EXPECT_LE(work.end_ns, end_ns + kClockNs) << work.name;
  }
}

TEST(DeviceTimes, LongWorkTakesTheTimeThatTheHostWaits) {
  const Pick pick("device");
  LongWork work(pick.device());
  Stream stream = *pick.instance().make_stream(true);
  work.enqueue(stream);
  finish(stream);
  ASSERT_TRUE(stream.times().ok());  // the first commands on new memory
  const int64_t begin = steady_now_ns();
  work.enqueue(stream);
  finish(stream);
  const int64_t end = steady_now_ns();
  const std::vector<WorkTime> times = *stream.times();
  ASSERT_EQ(times.size(), static_cast<size_t>(work.copies()));
  expect_between(times, begin, end);
  EXPECT_THAT(times[0].name, HasSubstr("copy of 67108864 bytes within the device"));
  int64_t sum = 0;
  for (const WorkTime& each : times) sum += each.end_ns - each.begin_ns;
  EXPECT_GT(sum, (end - begin) / 2) << "the host only waits meanwhile";
}

TEST(DeviceTimes, RunsAndRecordingsNameTheirNodeAndTheirCall) {
  for (const std::string& memory : memories()) {
    const Pick pick(memory);
    Bound bound(pick);
    bound.set({10, 20, 30}, {2, 0});
    Stream stream = *pick.instance().make_stream(true);
    ASSERT_TRUE(bound.run(stream, 7).ok());
    finish(stream);
    std::vector<WorkTime> times = *stream.times();
    ASSERT_FALSE(times.empty());
    EXPECT_EQ(times[0].name, "node 'pick' (Gather)");
    for (const WorkTime& work : times) EXPECT_EQ(work.work_id, 7u) << work.name;
    EXPECT_TRUE(stream.times()->empty()) << "given already";
    ASSERT_TRUE(stream.record_begin().ok());
    ASSERT_TRUE(bound.run(stream, 8).ok());
    runtime::Recording recording = *stream.record_end();
    EXPECT_TRUE(stream.times()->empty()) << "only recorded";
    for (int turn = 0; turn < 2; ++turn) {
      const int64_t begin = steady_now_ns();
      ASSERT_TRUE(recording.run(stream).ok());
      finish(stream);
      const int64_t end = steady_now_ns();
      times = *stream.times();
      ASSERT_FALSE(times.empty());
      EXPECT_EQ(times[0].work_id, 8u);
      expect_between(times, begin, end);
    }
    EXPECT_EQ(bound.result(), (std::vector<float>{30, 10})) << memory;
  }
}

TEST(DeviceTimes, AStreamThatDoesNotMeasureGivesNothing) {
  const Pick pick(host_visible());
  Bound bound(pick);
  bound.set({10, 20, 30}, {2, 0});
  Stream stream = pick.make_stream();
  ASSERT_TRUE(bound.run(stream).ok());
  finish(stream);
  EXPECT_TRUE(stream.times()->empty());
}

TEST(DeviceTimes, ATracedRunShowsTheKernels) {
  GraphMaker m;
  m.output(m.node("Softmax", {m.input("x", GraphMaker::f32({64, 64}))}, {}, "soft"), "y");
  const auto session = make_session(m.bytes(), device_config("device"));
  ASSERT_NE(session, nullptr);
  runtime::Trace trace;
  session::RunOptions options;
  options.trace = &trace;
  run(*session, {{"x", f32({64, 64}, std::vector<float>(4096, 1))}}, options);
  int kernels = 0, copies = 0;
  for (const runtime::Trace::Event& event : trace.take()) {
    if (event.category != "device") continue;
    EXPECT_THAT(event.provider, HasSubstr(provider() + "/"));
    kernels += event.step == "node 'soft' (Softmax)";
    copies += event.bytes != 0;
  }
  EXPECT_GE(kernels, 1);
  EXPECT_EQ(copies, 2) << "x and y";
}

}  // namespace
}  // namespace tenon::test
