#include "host/session/session.h"

#include <gmock/gmock.h>

#include "host/exec/frame_pool.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

using session::NamedValue;
using testing::ElementsAre;
using testing::HasSubstr;

/// y = relu(x + c), z = y * y
std::string chain() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2, 2}));
  const auto c = m.constant("c", {2}, {1, -10});
  const auto sum = m.node("Add", {x, c}, {}, "plus");
  const auto y = m.node("Relu", {sum}, {}, "cut");
  const auto z = m.node("Mul", {y, y}, {}, "square");
  m.output(y, "y");
  m.output(z, "z");
  return m.bytes();
}

TEST(Session, StaticModelRuns) {
  const auto session = make_session(chain());
  ASSERT_NE(session, nullptr);
  for (int turn = 0; turn < 3; ++turn) {
    const auto outputs = run(*session, {{"x", f32({2, 2}, {1, 2, 3, 40})}});
    EXPECT_THAT(floats(outputs[0]), ElementsAre(2, 0, 4, 30));
    EXPECT_THAT(floats(outputs[1]), ElementsAre(4, 0, 16, 900));
    EXPECT_THAT(dims(outputs[1]), ElementsAre(2, 2));
  }
}

TEST(Session, OutputsKeepTheirValuesAfterTheNextRun) {
  const auto session = make_session(chain());
  const auto first = run(*session, {{"x", f32({2, 2}, {1, 2, 3, 40})}});
  const auto second = run(*session, {{"x", f32({2, 2}, {0, 0, 0, 0})}});
  EXPECT_THAT(floats(first[0]), ElementsAre(2, 0, 4, 30));
  EXPECT_THAT(floats(second[0]), ElementsAre(1, 0, 1, 0));
}

TEST(Session, OutputsByNameAndInTheCallersMemory) {
  const auto session = make_session(chain());
  const std::vector<NamedValue> inputs = {{"x", f32({2, 2}, {1, 2, 3, 40})}};
  const std::vector<std::string_view> names = {"z"};
  ValueRef mine = f32({2, 2}, {9, 9, 9, 9});
  const void* memory = mine->tensor.data;
  std::vector<ValueRef> outputs = {mine};
  ASSERT_TRUE(session->run({}, inputs, names, outputs).ok());
  EXPECT_EQ(outputs[0]->tensor.data, memory);
  EXPECT_THAT(floats(mine), ElementsAre(4, 0, 16, 900));

  outputs = {f32({4}, {0, 0, 0, 0})};
  const Status status = session->run({}, inputs, names, outputs);
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidInput);
  EXPECT_THAT(status.to_string(), HasSubstr("'z'"));
}

TEST(Session, WrongInputsAreNamed) {
  const auto session = make_session(chain());
  std::vector<ValueRef> outputs(2);
  const auto message = [&](const std::vector<NamedValue>& inputs) {
    const Status status = session->run({}, inputs, {}, outputs);
    EXPECT_EQ(status.kind(), ErrorKind::kInvalidInput);
    return status.to_string();
  };
  EXPECT_THAT(message({}), HasSubstr("input 'x' (float32[2,2]) is missing"));
  EXPECT_THAT(message({{"X", f32({2, 2}, {1, 2, 3, 4})}}), HasSubstr("did you mean 'x'"));
  EXPECT_THAT(message({{"x", f32({2, 3}, {1, 2, 3, 4, 5, 6})}}), HasSubstr("dim 1 must be 2"));
  EXPECT_THAT(message({{"x", f32({4}, {1, 2, 3, 4})}}), HasSubstr("the rank differs"));
  EXPECT_THAT(message({{"x", i64({2, 2}, {1, 2, 3, 4})}}), HasSubstr("the element type differs"));
}

TEST(Session, InputThatIsAnOutputIsCopied) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2}));
  m.graph.add_output(x);
  m.output(m.node("Neg", {x}), "y");
  const auto session = make_session(m.bytes());
  ASSERT_NE(session, nullptr);
  const ValueRef given = f32({2}, {1, 2});
  const auto outputs = run(*session, {{"x", given}});
  EXPECT_NE(outputs[0]->tensor.data, given->tensor.data);
  EXPECT_THAT(floats(outputs[0]), ElementsAre(1, 2));
  EXPECT_THAT(floats(outputs[1]), ElementsAre(-1, -2));
}

TEST(Session, DefaultsMayBeLeftOutOrGiven) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2}));
  const auto bias = m.input("bias", GraphMaker::f32({2}), GraphMaker::floats({2}, {10, 20}));
  m.output(m.node("Add", {x, bias}), "y");
  const auto session = make_session(m.bytes());
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(floats(run(*session, {{"x", f32({2}, {1, 2})}})[0]), ElementsAre(11, 22));
  EXPECT_THAT(floats(run(*session, {{"x", f32({2}, {1, 2})}, {"bias", f32({2}, {0, 1})}})[0]),
              ElementsAre(1, 3));
}

TEST(Session, SymbolicShapesArePlannedOnce) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 2}));
  const auto w = m.input("w", GraphMaker::f32({ir::Dim("n"), 2}));
  m.output(m.node("Add", {x, w}), "y");
  const auto session = make_session(m.bytes());
  ASSERT_NE(session, nullptr);
  for (int64_t n : {1, 3, 1, 0, 3}) {
    const std::vector<float> ones(static_cast<size_t>(2 * n), 1);
    const auto outputs = run(*session, {{"x", f32({n, 2}, ones)}, {"w", f32({n, 2}, ones)}});
    EXPECT_THAT(dims(outputs[0]), ElementsAre(n, 2));
    EXPECT_THAT(floats(outputs[0]), testing::Each(2));
  }
  size_t plans = 0;
  session->assembly()->executable->frames().for_each_plan([&](const runtime::Plan& plan) {
    EXPECT_TRUE(plan.is_static);
    ++plans;
  });
  EXPECT_EQ(plans, 3u);

  std::vector<ValueRef> outputs(1);
  const std::vector<NamedValue> inputs = {{"x", f32({1, 2}, {1, 1})}, {"w", f32({2, 2}, {1, 1, 1, 1})}};
  EXPECT_THAT(session->run({}, inputs, {}, outputs).to_string(), HasSubstr("dim 'n' is 1 in input 'x'"));
}

TEST(Session, ShapeArithmeticLeavesNoSteps) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 4}));
  const auto shape = m.node("Shape", {x});
  const auto n = m.node("Gather", {shape, m.ints("zero", {0})});
  const auto half = m.node("Concat", {n, m.ints("rest", {2, -1})}, {ir::Attribute::of_int("axis", 0)});
  m.output(m.node("Reshape", {x, half}), "y");
  const auto session = make_session(m.bytes());
  ASSERT_NE(session, nullptr);
  const auto outputs = run(*session, {{"x", f32({3, 4}, std::vector<float>(12, 1))}});
  EXPECT_THAT(dims(outputs[0]), ElementsAre(3, 2, 2));
  session->assembly()->executable->frames().for_each_plan([&](const runtime::Plan& plan) {
    EXPECT_TRUE(plan.is_static);
    EXPECT_EQ(plan.steps.size(), 1u);
  });
}

TEST(Session, DataDependentShapesAreMadeDuringTheRun) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n")}));
  const auto where = m.node("NonZero", {x});
  const auto picked = m.node("Gather", {x, where});
  const auto doubled = m.node("Add", {picked, picked});
  const auto shape = m.node("Shape", {doubled});
  m.output(where, "where");
  m.output(doubled, "doubled");
  m.output(shape, "shape");
  m.output(m.node("ReduceSum", {doubled}, {ir::Attribute::of_int("keepdims", 0)}), "sum");
  const auto session = make_session(m.bytes());
  ASSERT_NE(session, nullptr);
  for (int turn = 0; turn < 2; ++turn) {
    auto outputs = run(*session, {{"x", f32({4}, {0, 3, 0, 5})}});
    EXPECT_THAT(elements<int64_t>(outputs[0]), ElementsAre(1, 3));
    EXPECT_THAT(floats(outputs[1]), ElementsAre(6, 10));
    EXPECT_THAT(elements<int64_t>(outputs[2]), ElementsAre(1, 2));
    EXPECT_THAT(floats(outputs[3]), ElementsAre(16));
    outputs = run(*session, {{"x", f32({4}, {0, 0, 0, 0})}});
    EXPECT_THAT(dims(outputs[1]), ElementsAre(1, 0));
    EXPECT_THAT(floats(outputs[3]), ElementsAre(0));
  }
}

TEST(Session, ReshapeToARunTimeShape) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({6}));
  const auto shape = m.input("shape", GraphMaker::i64({2}));
  m.output(m.node("Relu", {m.node("Reshape", {x, shape})}), "y");
  const auto session = make_session(m.bytes());
  ASSERT_NE(session, nullptr);
  const ValueRef data = f32({6}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(dims(run(*session, {{"x", data}, {"shape", i64({2}, {2, 3})}})[0]), ElementsAre(2, 3));
  EXPECT_THAT(dims(run(*session, {{"x", data}, {"shape", i64({2}, {-1, 2})}})[0]), ElementsAre(3, 2));
  std::vector<ValueRef> outputs(1);
  const std::vector<NamedValue> wrong = {{"x", data}, {"shape", i64({2}, {4, 2})}};
  const Status status = session->run({}, wrong, {}, outputs);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.to_string(), HasSubstr("Reshape"));
  EXPECT_THAT(dims(run(*session, {{"x", data}, {"shape", i64({2}, {6, 1})}})[0]), ElementsAre(6, 1))
      << "it goes on";
}

TEST(Session, MissingProviderIsNamed) {
  const auto session = try_session(chain(), config_for({providers_dir()}, {"nosuch"}));
  ASSERT_FALSE(session.ok());
  EXPECT_THAT(session.error().to_string(), HasSubstr("nosuch"));
}

}  // namespace
}  // namespace tenon::test
