// States through the C API and its C++ face.
#include <gmock/gmock.h>

#include "tenon/tenon.hpp"
#include "tests/support/paths.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// sum = total + x, y = relu(sum).
std::string running_sum() {
  GraphMaker m;
  const auto total = m.input("total", GraphMaker::f32({2}));
  const auto x = m.input("x", GraphMaker::f32({2}));
  const auto sum = m.node("Add", {total, x});
  m.output(sum, "sum", GraphMaker::f32({2}));
  m.output(m.node("Relu", {sum}), "y", GraphMaker::f32({2}));
  return m.bytes();
}

Config summing() {
  Config config;
  config.set("discovery.search", "[\"" + providers_dir() + "\"]").set("discovery.scan", "\"off\"");
  config.set("select.order", "[\"cpu\"]").set("state.pairs", "[\"total=sum\"]");
  return config;
}

std::vector<float> numbers(const Value& value) {
  const std::span<const float> data = value.data<float>();
  return {data.begin(), data.end()};
}

class States : public testing::Test {
 protected:
  std::vector<float> feed(const State* state, float a, float b) {
    RunOptions options;
    options.state = state;
    return numbers(session.run({{"x", Value::tensor<float>({2}, {a, b})}}, options)["y"]);
  }

  const std::string bytes = running_sum();
  const Config config = summing();
  Session session = Session::from_memory(bytes.data(), bytes.size(), &config);
};

TEST_F(States, EachSequenceHasItsOwn) {
  State first = session.make_state(), second = session.make_state();
  EXPECT_THAT(feed(&first, 1, -1), ElementsAre(1, 0));
  EXPECT_THAT(feed(&second, 10, 10), ElementsAre(10, 10));
  EXPECT_THAT(feed(&first, 1, 5), ElementsAre(2, 4));
  EXPECT_THAT(feed(nullptr, 7, 7), ElementsAre(7, 7));
  EXPECT_THAT(numbers(first.read(0)), ElementsAre(2, 4));
  first.reset();
  EXPECT_THAT(feed(&first, 1, 1), ElementsAre(1, 1));
  EXPECT_THROW(first.read(1), Error);
}

TEST_F(States, ThePairsAreNamedAndNotShown) {
  EXPECT_EQ(api().session_state_count(session.get()), 1u);
  tenon_str input{}, output{};
  ASSERT_EQ(api().session_state(session.get(), 0, &input, &output), TENON_OK);
  EXPECT_EQ(as_string(input), "total");
  EXPECT_EQ(as_string(output), "sum");
  EXPECT_EQ(api().session_state(session.get(), 1, &input, &output), TENON_INVALID_ARGUMENT);
  ASSERT_EQ(session.inputs().size(), 1u);
  EXPECT_EQ(as_string(session.inputs()[0].name), "x");
  ASSERT_EQ(session.outputs().size(), 1u);
  EXPECT_EQ(as_string(session.outputs()[0].name), "y");
}

TEST_F(States, ARunWithSlotsNamesItToo) {
  State state = session.make_state();
  Slots slots(session);
  const Value x = Value::tensor<float>({2}, {1, 2});
  slots.bind_input("x", x.describe());
  RunOptions options;
  options.state = &state;
  for (int turn = 0; turn < 3; ++turn) slots.run(options);
  const tenon_tensor y = slots.output("y");
  EXPECT_EQ(static_cast<const float*>(y.data)[0], 3);
  EXPECT_EQ(static_cast<const float*>(y.data)[1], 6);
}

TEST_F(States, ASessionWithoutPairsHasNone) {
  Config plain = summing();
  plain.set("state.pairs", "[]");
  const Session without = Session::from_memory(bytes.data(), bytes.size(), &plain);
  EXPECT_EQ(api().session_state_count(without.get()), 0u);
  tenon_state* state = nullptr;
  tenon_error error{};
  error.struct_size = sizeof(error);
  EXPECT_EQ(api().state_create(without.get(), &state, &error), TENON_FAILED_PRECONDITION);
  EXPECT_THAT(error.message, HasSubstr("state.pairs"));
}

TEST_F(States, OneMayOutliveItsSessionsHandle) {
  std::optional<Session> made(Session::from_memory(bytes.data(), bytes.size(), &config));
  State state = made->make_state();
  RunOptions options;
  options.state = &state;
  made->run({{"x", Value::tensor<float>({2}, {1, 2})}}, options);
  made.reset();
  EXPECT_THAT(numbers(state.read(0)), ElementsAre(1, 2));
}

}  // namespace
}  // namespace tenon::test
