// What goes wrong in Runs with operators that an application registers.
#include <atomic>
#include <thread>

#include "tests/unit/host/api/operators_case.h"

namespace tenon::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Runs a Scale that does `body`, and gives the error.
Error error_of_run(
    std::function<void(const OperatorCall&, const std::vector<Value>&, std::vector<Value>&)> body,
    std::string_view type = "float32[1,2]") {
  Operators operators;
  operators.add(scale_with([&](Operator& op) {
    op.infer = [type = std::string(type)](const OperatorCall& call) { call.set_output(0, type); };
    op.run = std::move(body);
  }));
  std::vector<std::string> log;
  SessionOptions options;
  options.log = [&](uint32_t, std::string_view, std::string_view code, std::string_view) {
    log.emplace_back(code);
  };
  Made made = make(scaling(), &operators, cpu(), options);
  if (made.error) return *made.error;
  const std::optional<Error> error = error_of(*made.session, {{"x", kOne}});
  EXPECT_TRUE(error.has_value());
  EXPECT_EQ(error_of(*made.session, {{"x", kOne}})->what(), std::string(error->what()))
      << "no repeat changes it";
  EXPECT_THAT(log, testing::Not(testing::Contains("FALLBACK")));
  return *error;
}

TEST(OperatorErrors, OfTheFunctionNameTheNode) {
  const Error error = error_of_run([](const OperatorCall&, const std::vector<Value>&, std::vector<Value>&) {
    throw std::runtime_error("the table is empty");
  });
  expect_node_is_named(error);
  EXPECT_EQ(error.message(), "the table is empty");
  EXPECT_EQ(error.code(), TENON_UNKNOWN);
}

TEST(OperatorErrors, BrokenPromisesTellBothTypes) {
  const auto giving = [](Value value) {
    return [value](const OperatorCall&, const std::vector<Value>&, std::vector<Value>& outputs) {
      outputs[0] = value;
    };
  };
  struct Case {
    Value given;
    const char* promised;
    const char* text;
  };
  const Case cases[] = {
      {numbers({1, 3}, {1, 2, 3}), "float32[1,2]",
       "the operator gave float32[1,3] for its output 0, but its type inference promised float32[1,2]"},
      {numbers({2}, {1, 2}), "float32[1,2]", "gave float32[2] for its output 0"},
      {Value::tensor<double>({1, 2}, {1, 2}), "float32[1,2]", "gave float64[1,2] for its output 0"},
      {Value::strings({1, 2}, {"a", "b"}), "float32[1,2]", "gave string[1,2] for its output 0"},
      {numbers({1, 3}, {1, 2, 3}), "float32[?,2]", "promised float32[?,2]"},
      {numbers({1, 3, 1}, {1, 2, 3}), "float32[?,?]", "promised float32[?,?]"},
      {Value(), "float32[?,2]", "the operator gave no value for its output 0"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.text);
    const Error error = error_of_run(giving(each.given), each.promised);
    expect_node_is_named(error);
    EXPECT_THAT(error.message(), HasSubstr(each.text));
    EXPECT_EQ(error.code(), TENON_INVALID_ARGUMENT);
  }
}

TEST(OperatorErrors, AnInputMustNotBeKept) {
  std::vector<Value> kept;
  const Error error =
      error_of_run([&](const OperatorCall&, const std::vector<Value>& inputs, std::vector<Value>& outputs) {
        kept.push_back(inputs[0]);
        for (float& element : outputs[0].mutable_data<float>()) element = 0;
      });
  expect_node_is_named(error);
  EXPECT_THAT(error.message(), HasSubstr("kept a count of its input 0"));
  kept.clear();
  const Error other = error_of_run([&](const OperatorCall&, const std::vector<Value>&,
                                       std::vector<Value>& outputs) { kept.push_back(outputs[0]); });
  EXPECT_THAT(other.message(), HasSubstr("kept a count of its output 0"));
}

TEST(Operators, MayKeepInputsWithTheFlag) {
  std::vector<Value> kept;
  Operators operators;
  operators.add(scale_with([&](Operator& op) {
    op.keeps_inputs = true;
    op.run = [&](const OperatorCall&, const std::vector<Value>& inputs, std::vector<Value>& outputs) {
      kept.push_back(inputs[0]);
      for (float& element : outputs[0].mutable_data<float>()) element = 0;
    };
  }));
  {
    Session s = session(scaling(), operators);
    s.run({{"x", numbers({1, 2}, {4, 5})}});
    s.run({{"x", numbers({1, 2}, {6, 7})}});
  }
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_THAT(kept[0].data<float>(), ElementsAre(4, 5));
  EXPECT_THAT(kept[1].data<float>(), ElementsAre(6, 7));
}

TEST(OperatorErrors, MemoryThatRunsOutKeepsItsKind) {
  const Error error = error_of_run(
      [](const OperatorCall&, const std::vector<Value>&, std::vector<Value>&) { throw std::bad_alloc(); });
  expect_node_is_named(error, TENON_FAILURE_MEMORY);
}

TEST(OperatorErrors, ARunThatIsCancelledIsNoFailureOfTheOperator) {
  Operators operators;
  Cancel cancel;
  std::atomic<bool> began{false};
  operators.add(scale_with([&](Operator& op) {
    op.run = [&](const OperatorCall& call, const std::vector<Value>&, std::vector<Value>&) {
      began = true;
      while (!call.is_stopped()) std::this_thread::yield();
      throw Error(TENON_FAILURE_CANCELLED, TENON_CANCELLED, "", "");
    };
  }));
  Session s = session(scaling(), operators);
  std::thread other([&] {
    while (!began) std::this_thread::yield();
    cancel.trigger();
  });
  RunOptions options;
  options.cancel = &cancel;
  try {
    s.run({{"x", kOne}}, options);
    ADD_FAILURE() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_CANCELLED}) << error.what();
    EXPECT_EQ(error.part(TENON_ERROR_PART_NODE), "grow") << error.what();
  }
  other.join();
  began = false;
  options.cancel = nullptr;
  options.deadline_ns = 20'000'000;
  try {
    s.run({{"x", kOne}}, options);
    ADD_FAILURE() << "not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_DEADLINE}) << error.what();
  }
}

TEST(OperatorErrors, OfRunsAtTheSameTimeAreTheirOwn) {
  Operators operators;
  operators.add(scale_with([](Operator& op) {
    const auto run = op.run;
    op.run = [run](const OperatorCall& call, const std::vector<Value>& inputs, std::vector<Value>& outputs) {
      const float first = inputs[0].data<float>()[0];
      std::this_thread::yield();
      if (first < 0) throw std::runtime_error("got " + std::to_string(static_cast<int>(first)));
      run(call, inputs, outputs);
    };
  }));
  Session s = session(scaling(), operators);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&s, t] {
      for (int i = 1; i < 200; ++i) {
        const bool bad = (i + t) % 3 == 0;
        const auto number = static_cast<float>(bad ? -1000 * t - i : i);
        const Value x = numbers({1, 2}, {number, 1});
        const std::optional<Error> error = error_of(s, {{"x", x}});
        ASSERT_EQ(error.has_value(), bad);
        if (!bad) continue;
        EXPECT_EQ(error->message(), "got " + std::to_string(static_cast<int>(number)));
        expect_node_is_named(*error);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tenon::test
