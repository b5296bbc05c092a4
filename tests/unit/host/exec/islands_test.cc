// Plans with islands: their steps, and where the caller's memory is staged.
#include "host/exec/islands.h"

#include <gmock/gmock.h>

#include "host/services/trace.h"
#include "tests/unit/host/session/accelerator_case.h"

namespace tenon::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// "copy x", "run", "wait" ... of the first plan.
std::vector<std::string> steps_of(const session::Session& session) {
  std::vector<std::string> out;
  const auto described = described_plans(session);
  for (const auto& step : described["plans"][0]["steps"]) {
    const std::string kind = step["kind"];
    out.push_back(kind == "copy" ? kind + " " + step["value"].get<std::string>() : kind);
  }
  return out;
}

std::string one_island() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({4}));
  m.output(m.node("Relu", {m.node("Add", {x, x}, {}, "add")}, {}, "relu"), "y");
  return m.bytes();
}

TEST(Islands, CallersMemoryPassesThroughStaging) {
  const auto session = make_session(one_island(), split({"max_nodes=1"}));
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(steps_of(*session),
              ElementsAre("copy x", "copy x", "run", "run", "copy y", "signal", "wait", "copy y"));
  const auto plan = described_plans(*session)["plans"][0];
  ASSERT_EQ(plan["islands"].size(), 1u);
  EXPECT_EQ(plan["islands"][0]["first_step"], 1);
  EXPECT_EQ(plan["islands"][0]["steps"], 4);
  EXPECT_EQ(plan["islands"][0]["stream"], "accelerator/npu:0");
  EXPECT_EQ(plan["islands"][0]["recorded"], true);
  EXPECT_EQ(plan["steps"][0]["from"], "host");
  EXPECT_THAT(plan["steps"][0]["to"].get<std::string>(), HasSubstr("accelerator/npu:0"));
  EXPECT_FALSE(plan["steps"][0].contains("stream")) << "the host copies";
}

TEST(Islands, WithoutStagingMemoryTheyPassThroughHostMemory) {
  const auto session = make_session(one_island(), accelerated({"accelerator/npu:2", "cpu"}));
  ASSERT_NE(session, nullptr);
  const auto plan = described_plans(*session)["plans"][0];
  EXPECT_EQ(plan["steps"][0]["from"], "host");
  EXPECT_EQ(plan["steps"][0]["to"], "host");
  EXPECT_EQ(plan["islands"].size(), 1u);
  for (float v : {1.F, 5.F}) {
    const std::vector<session::NamedValue> inputs = {{"x", f32({4}, {v, -1, 0, v})}};
    expect_equal(run(*session, inputs), reference(one_island(), inputs));
  }
}

TEST(Islands, APlanWithDynamicValuesHasNone) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({4}));
  const auto found = m.node("Gather", {x, m.node("NonZero", {x})});
  m.output(m.node("Add", {found, found}), "y");
  const auto session = make_session(m.bytes(), split());
  ASSERT_NE(session, nullptr);
  const std::vector<session::NamedValue> inputs = {{"x", f32({4}, {1, 0, 2, 3})}};
  for (int turn = 0; turn < 2; ++turn) expect_equal(run(*session, inputs), reference(m.bytes(), inputs));
  EXPECT_TRUE(described_plans(*session)["plans"][0]["islands"].empty());
}

/// The cpu provider's Unsqueeze is a view of the caller's memory.
TEST(Islands, AViewOfCallersMemoryIsStagedToo) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({4}));
  const auto wide = m.node("Unsqueeze", {x, m.ints("axes", {0})}, {}, "widen");
  m.output(m.node("Add", {wide, wide}, {}, "add"), "y");
  const auto session = make_session(m.bytes(), split());
  ASSERT_NE(session, nullptr);
  const auto plan = described_plans(*session)["plans"][0];
  ASSERT_EQ(plan["steps"][0]["views"], nlohmann::json::array({"widen"}));
  ASSERT_EQ(plan["islands"].size(), 1u);
  std::vector<ValueRef> held;  // so that each Run has other memory
  for (float v : {1.F, 2.F, 3.F}) {
    const std::vector<session::NamedValue> inputs = {{"x", f32({4}, {v, v, 0, v})}};
    held.push_back(inputs[0].value);
    expect_equal(run(*session, inputs), reference(m.bytes(), inputs));
  }
}

/// y is an output, and the cpu provider and a second island read it, too.
TEST(Islands, AnOutputHasFurtherReaders) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({4}));
  const auto y = m.node("Add", {x, x}, {}, "add");
  const auto soft = m.node("Softmax", {y}, {ir::Attribute::of_int("axis", -1)}, "softmax");
  m.output(m.node("Mul", {soft, y}, {}, "mul"), "z");
  m.output(y, "y");
  const auto session = make_session(m.bytes(), split());
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(described_plans(*session)["plans"][0]["islands"].size(), 2u);
  std::vector<std::vector<ValueRef>> held;
  for (float v : {1.F, 2.F, 3.F}) {
    const std::vector<session::NamedValue> inputs = {{"x", f32({4}, {v, 1, 0, -v})}};
    held.push_back(run(*session, inputs));
    expect_equal(held.back(), reference(m.bytes(), inputs));
  }
}

TEST(Islands, WhatCannotBeRecordedIsSaid) {
  const auto session = make_session(one_island(), split({"max_nodes=1", "record=\"no\""}));
  ASSERT_NE(session, nullptr);
  run(*session, {{"x", f32({4}, {1, 2, 3, 4})}});
  const auto island = described_plans(*session)["plans"][0]["islands"][0];
  EXPECT_EQ(island["recorded"], false);
  EXPECT_THAT(island["reason"].get<std::string>(), HasSubstr("cannot record node 'add' (Add)"));
}

/// Names and categories of a Run's events on the accelerator, without those of the provider itself.
std::vector<std::string> events_of(session::Session& session) {
  runtime::Trace trace;
  session::RunOptions options;
  options.trace = &trace;
  run(session, {{"x", f32({4}, {1, 2, 3, 4})}}, options);
  std::vector<std::string> out;
  for (const runtime::Trace::Event& event : trace.take()) {
    const bool inside = event.category == "device" || event.category == "span";
    if (event.provider == "accelerator/npu:0" && !inside) out.push_back(event.category + ": " + event.name);
  }
  return out;
}

TEST(Islands, AreOneEventOfATrace) {
  const auto session = make_session(one_island(), split({"max_nodes=1"}));
  ASSERT_NE(session, nullptr);
  for (int turn = 0; turn < 2; ++turn)
    EXPECT_THAT(events_of(*session),
                ElementsAre("enqueue: island of 4 steps", "submit: submit", "wait: wait"));
}

TEST(Islands, ThatAreNotRecordedAreTheirSteps) {
  const auto session = make_session(one_island(), split({"max_nodes=1", "record=\"no\""}));
  ASSERT_NE(session, nullptr);
  for (int turn = 0; turn < 2; ++turn) {
    const std::vector<std::string> events = events_of(*session);
    ASSERT_EQ(events.size(), 6u);
    EXPECT_EQ(events[1], "enqueue: node 'add' (Add)");
    EXPECT_EQ(events[2], "enqueue: node 'relu' (Relu)");
  }
}

}  // namespace
}  // namespace tenon::test
