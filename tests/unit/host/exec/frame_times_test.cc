// Traced Runs: when work ran on a device, and what providers report themselves.
#include <gmock/gmock.h>

#include "host/services/trace.h"
#include "tests/unit/host/session/accelerator_case.h"

namespace tenon::test {
namespace {

using accelerator::Counters;
using runtime::Trace;
using testing::ElementsAre;
using testing::HasSubstr;

std::string two_nodes() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({4}));
  m.output(m.node("Relu", {m.node("Add", {x, x}, {}, "add")}, {}, "relu"), "y");
  return m.bytes();
}

const std::vector<float> kFloats{1, -2, 3, 4};

struct Traced {
  int64_t begin_ns, end_ns;
  std::vector<Trace::Event> all;

  explicit Traced(session::Session& session) {
    Trace trace;
    session::RunOptions options;
    options.trace = &trace;
    begin_ns = steady_now_ns();
    const auto outputs = run(session, {{"x", f32({4}, kFloats)}}, options);
    end_ns = steady_now_ns();
    expect_equal(outputs, reference(two_nodes(), {{"x", f32({4}, kFloats)}}));
    all = trace.take();
  }
  std::vector<Trace::Event> of(const std::string& category) const {
    std::vector<Trace::Event> out;
    for (const Trace::Event& event : all) {
      if (event.category == category) out.push_back(event);
    }
    return out;
  }
};

class FrameTimes : public testing::TestWithParam<const char*> {};

TEST_P(FrameTimes, WorkOnTheDeviceLiesWithinTheRunAndNamesItsStep) {
  const auto session = make_session(two_nodes(), split({"max_nodes=1", GetParam()}));
  ASSERT_NE(session, nullptr);
  for (int turn = 0; turn < 3; ++turn) {
    const Traced traced(*session);
    const std::vector<Trace::Event> work = traced.of("device");
    ASSERT_EQ(work.size(), 4u);
    EXPECT_THAT(work[0].step, HasSubstr("x to accelerator/npu:0"));
    EXPECT_EQ(work[0].name, work[0].step) << "the provider does not know the value";
    EXPECT_EQ(work[0].bytes, 16u);
    EXPECT_EQ(work[1].step, "node 'add' (Add)");
    EXPECT_EQ(work[1].name, "node 'add' (Add)");
    EXPECT_EQ(work[2].step, "node 'relu' (Relu)");
    EXPECT_THAT(work[3].step, HasSubstr("y to "));
    int64_t last = traced.begin_ns, sum = 0;
    for (const Trace::Event& event : work) {
      EXPECT_EQ(event.provider, "accelerator/npu:0");
      EXPECT_EQ(event.track, work[0].track);
      EXPECT_THAT(event.track, HasSubstr("device stream "));
      EXPECT_GE(event.begin_ns, last) << event.name;
      EXPECT_GE(event.duration_ns, 0) << event.name;
      last = event.begin_ns + event.duration_ns;
      sum += event.duration_ns;
    }
    EXPECT_LE(last, traced.end_ns);
    EXPECT_GT(sum, 0);
    EXPECT_LT(sum, traced.end_ns - traced.begin_ns);
  }
}

INSTANTIATE_TEST_SUITE_P(RecordedOrNot, FrameTimes, testing::Values("record=\"yes\"", "record=\"no\""));

TEST(FrameTimes, AClaimOfSeveralNodesHasATimeForEach) {
  const auto session = make_session(two_nodes(), split());
  ASSERT_NE(session, nullptr);
  const std::vector<Trace::Event> work = Traced(*session).of("device");
  ASSERT_EQ(work.size(), 4u);
  EXPECT_EQ(work[1].name, "node 'add' (Add)");
  EXPECT_EQ(work[2].name, "node 'relu' (Relu)");
  EXPECT_EQ(work[1].step, work[2].step) << "one claim";
}

TEST(FrameTimes, OnlyTracedRunsMeasure) {
  const FakeCounters counters;
  const auto session = make_session(two_nodes(), split({"max_nodes=1", counters.option()}));
  ASSERT_NE(session, nullptr);
  const auto grown = [&](const auto& body) {
    return growth(counters, {&Counters::timed_streams, &Counters::records, &Counters::recording_runs}, body);
  };
  const auto plain = [&] { run(*session, {{"x", f32({4}, kFloats)}}); };
  const auto traced = [&] { const Traced once(*session); };
  EXPECT_THAT(grown(plain), ElementsAre(0, 1, 1));
  EXPECT_THAT(grown(plain), ElementsAre(0, 0, 1));
  EXPECT_THAT(grown(traced), ElementsAre(1, 1, 1)) << "streams and recordings of their own";
  EXPECT_THAT(grown(traced), ElementsAre(0, 0, 1));
  EXPECT_THAT(grown(plain), ElementsAre(0, 0, 1));
}

TEST(FrameTimes, AProviderReportsSpansOfItsOwn) {
  const auto session = make_session(two_nodes(), split({"max_nodes=1", "record=\"no\""}));
  ASSERT_NE(session, nullptr);
  const Traced traced(*session);
  const std::vector<Trace::Event> spans = traced.of("span");
  ASSERT_GE(spans.size(), 2u);
  for (const Trace::Event& span : spans) {
    EXPECT_EQ(span.name, "submission");
    EXPECT_EQ(span.provider, "accelerator/npu:0");
    EXPECT_GE(span.begin_ns, traced.begin_ns);
    EXPECT_LE(span.begin_ns + span.duration_ns, traced.end_ns);
  }
}

}  // namespace
}  // namespace tenon::test
