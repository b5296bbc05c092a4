// Islands that are recorded in the first Run and played back as one piece in the others.
#include <gmock/gmock.h>

#include "host/base/log.h"
#include "host/session/slots.h"
#include "tests/unit/host/session/accelerator_case.h"

namespace tenon::test {
namespace {

using accelerator::Counters;
using session::NamedValue;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kNodes = 200;

/// One island of kNodes claims. Each value depends on all nodes before it.
std::string chain(ir::Dim rows) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({rows, 2}));
  const auto one = m.constant("one", {2}, {1, 1});
  auto v = x;
  for (uint64_t n = 0; n < kNodes; n += 4) {
    v = m.node("Add", {v, x});
    v = m.node("Relu", {v});
    v = m.node("Sub", {v, one});
    v = m.node("Neg", {v});
  }
  m.output(v, "y");
  return m.bytes();
}

/// Each node is a claim of its own, and no piece of work is fast by chance.
config::Config node_by_node(const FakeCounters& counters, const std::string& more = "latency_us=100") {
  return split({"max_nodes=1", counters.option(), more});
}

std::vector<NamedValue> rows_of(std::vector<float> values) {
  const auto rows = static_cast<int64_t>(values.size() / 2);
  return {{"x", f32({rows, 2}, values)}};
}

TEST(Recordings, AnIslandIsRecordedOnceAndIsOnePieceOfWorkInARun) {
  const FakeCounters counters;
  const auto session = make_session(chain(2), node_by_node(counters));
  ASSERT_NE(session, nullptr);
  const auto inputs = rows_of({1, 2, -3, 4});
  const auto wanted = reference(chain(2), inputs);
  expect_equal(run(*session, inputs), wanted);
  EXPECT_EQ(counters.now().records, 1u);
  EXPECT_EQ(counters.now().recorded_runs, kNodes);
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<ValueRef> outputs;
    EXPECT_THAT(growth(counters,
                       {&Counters::records, &Counters::recorded_runs, &Counters::runs,
                        &Counters::recording_runs, &Counters::flushes, &Counters::point_waits},
                       [&] { outputs = run(*session, inputs); }),
                ElementsAre(0, 0, 0, 1, 1, 1));
    expect_equal(outputs, wanted);
  }
}

TEST(Recordings, EachShapeHasItsOwn) {
  const FakeCounters counters;
  const std::string bytes = chain(ir::Dim("rows"));
  const auto session = make_session(bytes, node_by_node(counters));
  ASSERT_NE(session, nullptr);
  const std::vector<std::vector<NamedValue>> shapes = {rows_of({1, 2}), rows_of({3, -4, 5, 6, 0, 1})};
  for (const auto& inputs : shapes) expect_equal(run(*session, inputs), reference(bytes, inputs));
  EXPECT_EQ(counters.now().records, 2u);
  for (int turn = 0; turn < 3; ++turn) {
    for (const auto& inputs : shapes) {
      std::vector<ValueRef> outputs;
      EXPECT_THAT(growth(counters, {&Counters::records, &Counters::recording_runs},
                         [&] { outputs = run(*session, inputs); }),
                  ElementsAre(0, 1));
      expect_equal(outputs, reference(bytes, inputs));
    }
  }
}

TEST(Recordings, InputsAndOutputsMayBeElsewhereInEachRun) {
  const FakeCounters counters;
  const auto session = make_session(chain(2), node_by_node(counters));
  ASSERT_NE(session, nullptr);
  const std::vector<std::vector<NamedValue>> given = {rows_of({1, 2, 3, 4}), rows_of({-5, 0, 7, -8}),
                                                      rows_of({0, 0, 9, 1})};
  std::vector<std::vector<ValueRef>> held;  // outputs of earlier Runs must not change
  for (const auto& inputs : given) held.push_back(run(*session, inputs));
  for (size_t i = 0; i < given.size(); ++i) expect_equal(held[i], reference(chain(2), given[i]));
  EXPECT_EQ(counters.now().records, 1u);
  EXPECT_EQ(counters.now().recording_runs, 3u);

  session::Slots slots(session);
  for (int turn = 0; turn < 4; ++turn) {
    const auto& inputs = given[static_cast<size_t>(turn) % 2];
    ASSERT_TRUE(slots.bind_input(0, inputs[0].value->tensor).ok());
    ASSERT_TRUE(slots.run({}).ok());
    const auto* y = static_cast<const float*>(slots.output(0)->data);
    EXPECT_EQ(std::vector<float>(y, y + 4), floats(reference(chain(2), inputs)[0]));
  }
}

TEST(Recordings, WhatCannotBeRecordedIsEnqueuedInEachRun) {
  std::vector<std::string> said;
  set_log_sink([&](const LogLine& line) {
    if (line.message.find("record") != std::string_view::npos)
      said.push_back(str_cat(line.code, " ", line.message));
  });
  const FakeCounters counters;
  const auto session = make_session(chain(2), node_by_node(counters, "record=\"no\""));
  ASSERT_NE(session, nullptr);
  const auto inputs = rows_of({1, 2, -3, 4});
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<ValueRef> outputs;
    EXPECT_THAT(growth(counters, {&Counters::runs, &Counters::flushes, &Counters::point_waits},
                       [&] { outputs = run(*session, inputs); }),
                ElementsAre(kNodes, 1, 1));
    expect_equal(outputs, reference(chain(2), inputs));
  }
  set_log_sink({});
  ASSERT_EQ(said.size(), 1u) << "once, and not in each Run";
  EXPECT_THAT(said[0], HasSubstr("accelerator/npu:0"));
}

TEST(Recordings, AFailureOfARecordedNodeNamesIt) {
  const FakeCounters counters;
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2}));
  m.output(m.node("Neg", {m.node("Mul", {m.node("Add", {x, x}, {}, "first"), x}, {}, "middle")}, {}, "last"),
           "y");
  config::Config config = split({"max_nodes=1", counters.option(), "fault=\"late\"", "fault_op=\"Mul\"",
                                 "fault_after=1", "fault_times=1"});
  ASSERT_TRUE(config.set("provider.accelerator.on_lost", "\"fail\"").ok());
  const auto session = make_session(m.bytes(), config);
  ASSERT_NE(session, nullptr);
  const std::vector<NamedValue> inputs = {{"x", f32({2}, {3, 4})}};
  EXPECT_THAT(floats(run(*session, inputs)[0]), ElementsAre(-18, -32));
  std::vector<ValueRef> outputs(1);
  const Status status = session->run({}, inputs, {}, outputs);
  EXPECT_THAT(status.to_string(), HasSubstr("the injected fault 'late'"));
  EXPECT_THAT(status.to_string(), HasSubstr("node 'middle' (Mul)"));
  EXPECT_THAT(status.to_string(), testing::Not(HasSubstr("'first'")));
  EXPECT_THAT(status.to_string(), testing::Not(HasSubstr("'last'")));
  EXPECT_THAT(floats(run(*session, inputs)[0]), ElementsAre(-18, -32));
  EXPECT_GE(counters.now().recording_runs, 3u);
}

}  // namespace
}  // namespace tenon::test
