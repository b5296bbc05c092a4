// Operators that an application registers, through the C API and its C++ face.
#include <gmock/gmock.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "core/base/result.h"
#include "tenon/tenon.hpp"
#include "tests/support/paths.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Config cpu() {
  Config config;
  config.set("discovery.search", "[\"" + providers_dir() + "\"]");
  config.set("discovery.scan", "\"off\"").set("select.order", "[\"cpu\"]");
  return config;
}

/// com.acme.Scale: y = factor * x, of the type of x.
Operator scale() {
  Operator op;
  op.domain = "com.acme";
  op.name = "Scale";
  op.attributes = {{"factor", TENON_ATTR_FLOAT, false}};
  op.infer = [](const OperatorCall& call) { call.set_output(0, call.input(0)); };
  op.run = [](const OperatorCall& call, const std::vector<Value>& inputs, std::vector<Value>& outputs) {
    const auto factor = static_cast<float>(call.float_or("factor", 2));
    const std::span<const float> from = inputs[0].data<float>();
    if (!outputs[0]) outputs[0] = Value::empty_tensor(TENON_FLOAT32, inputs[0].dims());
    const std::span<float> to = outputs[0].mutable_data<float>();
    for (size_t i = 0; i < from.size(); ++i) to[i] = factor * from[i];
  };
  return op;
}

/// The same operator with another `run` or `infer`.
template <class Change>
Operator scale_with(Change change) {
  Operator op = scale();
  change(op);
  return op;
}

/// Relu(Scale(x)) of rank 2, where Scale is node 'grow'.
GraphMaker scaling(std::vector<ir::Attribute> attributes = {ir::Attribute::of_float("factor", 3)}) {
  GraphMaker m;
  m.model.opset_imports["com.acme"] = 1;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 2}));
  m.output(m.node("Relu", {m.node("com.acme:Scale", {x}, std::move(attributes), "grow")}), "y");
  return m;
}

struct Made {
  std::optional<Session> session;
  std::optional<Error> error;
};

Made make(const GraphMaker& maker, const Operators* operators, const Config& config = cpu(),
          SessionOptions options = {}) {
  const std::string bytes = maker.bytes();
  options.operators = operators;
  Made made;
  try {
    made.session.emplace(Session::from_memory(bytes.data(), bytes.size(), &config, "", false, options));
  } catch (const Error& error) {
    made.error = error;
  }
  return made;
}

Session session(const GraphMaker& maker, const Operators& operators) {
  Made made = make(maker, &operators);
  if (made.error) throw *made.error;
  return std::move(*made.session);
}

std::optional<Error> error_of(Session& session, const std::vector<NamedValue>& inputs) {
  try {
    session.run(inputs);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

Value numbers(const std::vector<int64_t>& dims, std::initializer_list<float> elements) {
  return Value::tensor<float>(dims, elements);
}

const Value kOne = numbers({1, 2}, {1, -1});

TEST(Operators, RunWithAttributesAndSymbolicShapes) {
  Operators operators;
  operators.add(scale());
  Session s = session(scaling(), operators);
  EXPECT_EQ(as_string(s.outputs()[0].type_text), "float32[n,2]");
  EXPECT_THAT(s.run({{"x", numbers({1, 2}, {1, -1})}})["y"].data<float>(), ElementsAre(3, 0));
  EXPECT_THAT(s.run({{"x", numbers({2, 2}, {1, 2, 3, 4})}})["y"].data<float>(), ElementsAre(3, 6, 9, 12));
  EXPECT_EQ(s.run({{"x", numbers({0, 2}, {})}})["y"].element_count(), 0u);
  Session other = session(scaling({}), operators);
  EXPECT_THAT(other.run({{"x", kOne}})["y"].data<float>(), ElementsAre(2, 0)) << "without the attribute";
}

TEST(Operators, AreShownAsTheProviderCustom) {
  Operators operators;
  operators.add(scale());
  const Session s = session(scaling(), operators);
  ASSERT_EQ(s.instances().size(), 2u);
  EXPECT_EQ(s.instances()[0].instance, "custom/cpu:0");
  EXPECT_EQ(s.instances()[0].library, "");
  EXPECT_EQ(s.instances()[0].version, as_string(api().runtime_version()));
  EXPECT_EQ(s.instances()[1].provider, "cpu");
  EXPECT_THAT(s.describe(TENON_DESCRIBE_EXPLAIN),
              AllOf(HasSubstr("\"instance\":\"custom/cpu:0\""),
                    HasSubstr("the application registered no such operator")));
}

TEST(Operators, MayReplaceTheOutputThatIsOffered) {
  Operators operators;
  std::atomic<int> offered{0};
  operators.add(scale_with([&](Operator& op) {
    op.run = [&](const OperatorCall&, const std::vector<Value>& inputs, std::vector<Value>& outputs) {
      if (outputs[0]) ++offered;
      outputs[0] = Value::empty_tensor(TENON_FLOAT32, inputs[0].dims());
      for (float& element : outputs[0].mutable_data<float>()) element = 7;
    };
  }));
  Session s = session(scaling(), operators);
  EXPECT_THAT(s.run({{"x", kOne}})["y"].data<float>(), ElementsAre(7, 7));
  EXPECT_EQ(offered, 1);
}

TEST(Operators, MayGiveShapesThatInferenceLeftOpen) {
  Operators operators;
  operators.add(scale_with([](Operator& op) {
    op.infer = [](const OperatorCall& call) { call.set_output(0, "float32[?,2]"); };
    op.run = [](const OperatorCall&, const std::vector<Value>& inputs, std::vector<Value>& outputs) {
      EXPECT_FALSE(outputs[0]) << "its size is not known before";
      const int64_t rows = inputs[0].dims()[0] + 1;
      outputs[0] = Value::empty_tensor(TENON_FLOAT32, std::vector<int64_t>{rows, 2});
      for (float& element : outputs[0].mutable_data<float>()) element = static_cast<float>(rows);
    };
  }));
  Session s = session(scaling(), operators);
  EXPECT_EQ(s.outputs()[0].dims[1], 2);
  EXPECT_THAT(s.run({{"x", kOne}})["y"].data<float>(), ElementsAre(2, 2, 2, 2));
  EXPECT_EQ(s.run({{"x", numbers({3, 2}, {0, 0, 0, 0, 0, 0})}})["y"].dims(), (std::vector<int64_t>{4, 2}));
}

TEST(Operators, SeeWhatIsKnownWhenTypesAreInferred) {
  Operators operators;
  std::vector<std::string> types;
  std::vector<float> known;
  operators.add(scale_with([&](Operator& op) {
    op.max_inputs = 3;
    op.infer = [&](const OperatorCall& call) {
      EXPECT_EQ(call.node(), "grow");
      EXPECT_EQ(call.domain(), "com.acme");
      EXPECT_EQ(call.op_type(), "Scale");
      EXPECT_EQ(call.since_version(), 1);
      EXPECT_EQ(call.input_count(), 3u);
      EXPECT_EQ(call.output_count(), 1u);
      types.push_back(as_string(call.input(0).type_text));
      EXPECT_EQ(call.input(1).kind, uint32_t{TENON_KIND_NONE}) << "left out";
      EXPECT_EQ(call.output(0).kind, uint32_t{TENON_KIND_NONE});
      EXPECT_FALSE(call.value(0));
      EXPECT_FALSE(call.value(1));
      if (call.value(2)) known.push_back(call.value(2).data<float>()[0]);
      EXPECT_FALSE(call.value(9));
      call.set_output(0, call.input(0));
    };
    op.run = [](const OperatorCall& call, const std::vector<Value>& inputs, std::vector<Value>& outputs) {
      EXPECT_FALSE(inputs[1]);
      EXPECT_EQ(as_string(call.output(0).type_text), "float32[?,2]");
      EXPECT_EQ(inputs[2].data<float>()[0], 5);
      EXPECT_EQ(call.value(2).get(), inputs[2].get());
      EXPECT_TRUE(inputs[0].is_read_only());
      EXPECT_TRUE(inputs[2].is_read_only());
      for (float& element : outputs[0].mutable_data<float>()) element = 1;
    };
  }));
  GraphMaker m;
  m.model.opset_imports["com.acme"] = 1;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 2}));
  const auto y = m.node("com.acme:Scale", {x, ir::kNone, m.constant("five", {1}, {5})},
                        {ir::Attribute::of_float("factor", 3)}, "grow");
  m.output(y, "y");
  Session s = session(m, operators);
  EXPECT_THAT(types, testing::Contains("float32[n,2]"));
  EXPECT_THAT(known, testing::Contains(5));
  s.run({{"x", kOne}});
  EXPECT_THAT(types, testing::Contains("float32[1,2]"));
}

TEST(Operators, TakeAndGiveStringsSequencesAndOptionals) {
  Operators operators;
  Operator split;  // a string into a sequence of its characters, the number of them, and the string again
  split.domain = "com.acme";
  split.name = "Split";
  split.max_outputs = 4;
  split.infer = [](const OperatorCall& call) {
    call.set_output(0, "seq(string[?...])");
    if (call.output_count() > 1) call.set_output(1, "int64[]");
    if (call.output_count() > 2) call.set_output(2, "string[1]");
    if (call.output_count() > 3) call.set_output(3, "optional(string[?...])");
  };
  split.run = [](const OperatorCall& call, const std::vector<Value>& inputs, std::vector<Value>& outputs) {
    const std::string text(inputs[0].string_at(0));
    std::vector<Value> parts;
    std::vector<tenon_value*> pointers;
    for (const char c : text) {
      parts.push_back(Value::strings({1}, {std::string(1, c)}));
      pointers.push_back(parts.back().get());
    }
    tenon_value* made = nullptr;
    EXPECT_EQ(
        api().value_make(TENON_KIND_SEQUENCE, TENON_STRING, pointers.data(), pointers.size(), &made, nullptr),
        TENON_OK);
    outputs[0] = Value::adopt(made);
    EXPECT_EQ(call.output(1).kind, uint32_t{TENON_KIND_NONE}) << "nobody uses it";
    EXPECT_FALSE(outputs[1]);
    outputs[1] = Value::tensor<int64_t>({}, {1});  // may be given all the same
    outputs[2] = Value::strings({1}, {text + "!"});
    tenon_value* element = outputs[2].get();
    EXPECT_EQ(api().value_make(TENON_KIND_OPTIONAL, TENON_STRING, &element, 1, &made, nullptr), TENON_OK);
    outputs[3] = Value::adopt(made);
  };
  operators.add(split);
  Operator join;  // a sequence of strings into one
  join.domain = "com.acme";
  join.name = "Join";
  join.infer = [](const OperatorCall& call) { call.set_output(0, "string[1]"); };
  join.run = [](const OperatorCall&, const std::vector<Value>& inputs, std::vector<Value>& outputs) {
    std::string text;
    for (uint64_t i = 0; i < inputs[0].size(); ++i) text += std::string(inputs[0][i].string_at(0)) + "-";
    outputs[0] = Value::strings({1}, {text});
  };
  operators.add(join);
  GraphMaker m;
  m.model.opset_imports["com.acme"] = 1;
  const auto x = m.input("x", GraphMaker::type(ir::ElementType::kString, {1}));
  ir::Node node;
  node.domain = "com.acme";
  node.op_type = "Split";
  node.name = "split";
  node.inputs = {x};
  node.outputs = {m.graph.add_value("parts"), ir::kNone, m.graph.add_value("loud"),
                  m.graph.add_value("maybe")};
  const auto outputs = node.outputs;
  m.graph.add_node(node);
  m.output(m.node("com.acme:Join", {outputs[0]}), "joined");
  m.output(outputs[2], "loud");
  m.output(outputs[3], "maybe");
  m.output(m.node("SequenceLength", {outputs[0]}), "count");
  Session s = session(m, operators);
  const Outputs out = s.run({{"x", Value::strings({1}, {"abc"})}});
  EXPECT_EQ(out["joined"].string_at(0), "a-b-c-");
  EXPECT_EQ(out["loud"].string_at(0), "abc!");
  EXPECT_EQ(out["maybe"][0].string_at(0), "abc!");
  EXPECT_EQ(out["count"].data<int64_t>()[0], 3);
}

TEST(Operators, RunInBodiesAndFunctions) {
  Operators operators;
  operators.add(scale());
  GraphMaker body;
  body.graph.name = "body";
  body.input("i", GraphMaker::i64({}));
  const auto go = body.input("go", GraphMaker::boolean({}));
  const auto state = body.input("state", GraphMaker::f32({2}));
  body.output(body.node("Identity", {go}), "on");
  body.output(body.node("com.acme:Scale", {state}, {ir::Attribute::of_float("factor", 3)}, "inner"), "next");
  GraphMaker m;
  m.model.opset_imports["com.acme"] = 1;
  m.model.opset_imports["local"] = 1;
  ir::Function twice;  // y = Scale(x) with the factor of the call
  twice.domain = "local";
  twice.name = "Twice";
  twice.attributes = {"by"};
  twice.opset_imports = {{"", 21}, {"com.acme", 1}};
  GraphMaker inside;
  const auto in = inside.input("in", {});
  ir::Attribute by;
  by.name = "factor";
  by.type = ir::AttributeType::kFloat;
  by.reference = "by";
  inside.output(inside.node("com.acme:Scale", {in}, {by}, "called"), "out");
  twice.body = inside.graph;
  m.model.functions.push_back(twice);
  const auto x = m.input("x", GraphMaker::f32({2}));
  const auto looped =
      m.node("Loop", {m.scalar("times", 2), m.yes("yes"), x}, {ir::Attribute::of_graph("body", body.graph)});
  m.output(m.node("local:Twice", {looped}, {ir::Attribute::of_float("by", 10)}), "y");
  Session s = session(m, operators);
  EXPECT_THAT(s.run({{"x", numbers({2}, {1, 2})}})["y"].data<float>(), ElementsAre(90, 180));
}

// ---- What goes wrong in a Run ----

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

void expect_node_is_named(const Error& error, uint32_t kind = TENON_FAILURE_OPERATOR) {
  EXPECT_EQ(error.kind(), kind) << error.what();
  EXPECT_EQ(error.part(TENON_ERROR_PART_NODE), "grow") << error.what();
  EXPECT_EQ(error.part(TENON_ERROR_PART_OPERATOR), "com.acme.Scale") << error.what();
  EXPECT_EQ(error.part(TENON_ERROR_PART_PROVIDER), "custom " + as_string(api().runtime_version()));
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

// ---- What goes wrong when a session is made ----

Error error_of_session(const GraphMaker& maker, Operator op) {
  Operators operators;
  operators.add(std::move(op));
  const Made made = make(maker, &operators);
  EXPECT_TRUE(made.error.has_value());
  return made.error.value_or(Error(0, 0, "", "no error"));
}

TEST(OperatorErrors, OfInferenceNameTheNode) {
  const Error error =
      error_of_session(scaling(), scale_with([](Operator& op) {
                         op.infer = [](const OperatorCall&) { throw std::runtime_error("rank 2 only"); };
                       }));
  EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_OPERATOR});
  EXPECT_EQ(error.part(TENON_ERROR_PART_NODE), "grow");
  EXPECT_EQ(error.message(), "rank 2 only");
}

TEST(OperatorErrors, InferenceOfARunToo) {
  Operators operators;
  operators.add(scale_with([](Operator& op) {
    op.infer = [](const OperatorCall& call) {
      if (call.input(0).dims[0] > 2) throw std::runtime_error("too many rows");
      call.set_output(0, call.input(0));
    };
  }));
  Session s = session(scaling(), operators);
  EXPECT_FALSE(error_of(s, {{"x", kOne}}));
  const std::optional<Error> error = error_of(s, {{"x", numbers({3, 2}, {1, 2, 3, 4, 5, 6})}});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), uint32_t{TENON_FAILURE_OPERATOR});
  EXPECT_EQ(error->part(TENON_ERROR_PART_NODE), "grow");
  EXPECT_THAT(error->message(), HasSubstr("too many rows"));
  EXPECT_FALSE(error_of(s, {{"x", kOne}}));
}

TEST(OperatorErrors, InferenceMustGiveAKindUnlessTheModelDoes) {
  const auto silent = scale_with([](Operator& op) { op.infer = [](const OperatorCall&) {}; });
  const Error error = error_of_session(scaling(), silent);
  EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_UNSUPPORTED});
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("'grow'"), HasSubstr("the type of output 0 ('grow') is not known")));
  GraphMaker declared;
  declared.model.opset_imports["com.acme"] = 1;
  const auto x = declared.input("x", GraphMaker::f32({1, 2}));
  declared.output(declared.node("com.acme:Scale", {x}), "y", GraphMaker::f32({1, 2}));
  Operators operators;
  operators.add(silent);
  Session s = session(declared, operators);
  EXPECT_THAT(s.run({{"x", kOne}})["y"].data<float>(), ElementsAre(2, -2));
}

TEST(OperatorErrors, InferenceMustNotContradictTheModel) {
  GraphMaker declared;
  declared.model.opset_imports["com.acme"] = 1;
  const auto x = declared.input("x", GraphMaker::f32({1, 2}));
  declared.output(declared.node("com.acme:Scale", {x}, {}, "grow"), "y", GraphMaker::i64({1, 2}));
  const Error error = error_of_session(declared, scale());
  EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_INVALID_MODEL});
  EXPECT_EQ(error.part(TENON_ERROR_PART_NODE), "grow");
}

TEST(OperatorErrors, TypesThatCannotBeAreRefusedWhereTheyAreSet) {
  for (const char* type : {"float", "float32[-1]", "float32[1,]", "float32[2x]", "seq(float32"}) {
    const Error error =
        error_of_session(scaling(), scale_with([&](Operator& op) {
                           op.infer = [type](const OperatorCall& call) { call.set_output(0, type); };
                         }));
    EXPECT_THAT(error.message(), HasSubstr("is not a type")) << type;
  }
  const Error error =
      error_of_session(scaling(), scale_with([](Operator& op) {
                         op.infer = [](const OperatorCall& call) { call.set_output(1, "float32"); };
                       }));
  EXPECT_THAT(error.message(), HasSubstr("there is no output 1"));
}

TEST(OperatorErrors, NodesThatBreakTheRulesAreNamed) {
  struct Case {
    std::vector<ir::Attribute> attributes;
    const char* text;
  };
  const auto required = scale_with([](Operator& op) { op.attributes[0].required = true; });
  const Case cases[] = {
      {{ir::Attribute::of_float("facter", 1)}, "has no attribute 'facter'; did you mean 'factor'?"},
      {{ir::Attribute::of_int("factor", 1)},
       "attribute 'factor' of operator com.acme.Scale-1 must be of type"},
      {{}, "needs its attribute 'factor'"},
  };
  for (const Case& each : cases) {
    const Error error = error_of_session(scaling(each.attributes), required);
    EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_INVALID_MODEL});
    EXPECT_EQ(error.part(TENON_ERROR_PART_NODE), "grow");
    EXPECT_THAT(error.message(), HasSubstr(each.text));
  }
  EXPECT_THAT(error_of_session(scaling(), scale_with([](Operator& op) { op.min_inputs = op.max_inputs = 2; }))
                  .message(),
              HasSubstr("takes 2 inputs, the node has 1"));
  EXPECT_THAT(
      error_of_session(scaling(), scale_with([](Operator& op) { op.min_outputs = op.max_outputs = 3; }))
          .message(),
      HasSubstr("takes 3 outputs, the node has 1"));
}

TEST(Operators, MayHaveAnyAttributes) {
  Operators operators;
  std::string seen;
  operators.add(scale_with([&](Operator& op) {
    op.any_attribute = true;
    const auto infer = op.infer;
    op.infer = [&, infer](const OperatorCall& call) {
      seen = call.string_or("mode", "none");
      const std::optional<tenon_attribute> table = call.attribute("table"), words = call.attribute("words"),
                                           sizes = call.attribute("sizes"), rates = call.attribute("rates");
      ASSERT_TRUE(table && words && sizes && rates);
      EXPECT_EQ(static_cast<const float*>(table->tensors[0].data)[1], 8);
      EXPECT_EQ(as_string(words->strings[1]), "b");
      EXPECT_EQ(sizes->ints[2], 3);
      EXPECT_EQ(rates->floats[0], 0.5f);
      EXPECT_EQ(call.int_or("k", 0), 4);
      EXPECT_FALSE(call.attribute("other"));
      infer(call);
    };
    const auto run = op.run;
    op.run = [run](const OperatorCall& call, const std::vector<Value>& inputs, std::vector<Value>& outputs) {
      const std::optional<tenon_attribute> table = call.attribute("table"), words = call.attribute("words");
      ASSERT_TRUE(table && words);
      EXPECT_EQ(static_cast<const float*>(table->tensors[0].data)[1], 8) << "as in the model, also in a Run";
      EXPECT_EQ(as_string(words->strings[1]), "b");
      EXPECT_EQ(call.attribute("sizes")->ints[2], 3);
      run(call, inputs, outputs);
    };
  }));
  std::vector<ir::Attribute> attributes = {ir::Attribute::of_string("mode", "fast"),
                                           ir::Attribute::of_tensor("table", GraphMaker::floats({2}, {7, 8})),
                                           ir::Attribute::of_strings("words", {"a", "b"}),
                                           ir::Attribute::of_ints("sizes", {1, 2, 3}),
                                           ir::Attribute::of_floats("rates", {0.5f}),
                                           ir::Attribute::of_int("k", 4)};
  Session s = session(scaling(attributes), operators);
  EXPECT_EQ(seen, "fast");
  EXPECT_THAT(s.run({{"x", kOne}})["y"].data<float>(), ElementsAre(2, 0));
}

TEST(Operators, GraphsAreNoAttributes) {
  GraphMaker body;
  body.graph.name = "body";
  body.output(body.constant("c", {1}, {1}), "c");
  const Error error = error_of_session(scaling({ir::Attribute::of_graph("body", body.graph)}),
                                       scale_with([](Operator& op) { op.any_attribute = true; }));
  EXPECT_THAT(error.what(), HasSubstr("attribute 'body' is a graph"));
}

TEST(Operators, TheVersionOfTheModelDecides) {
  Operators operators;
  for (const int version : {5, 1, 3}) {
    operators.add(scale_with([&](Operator& op) {
      op.since_version = version;
      op.run = [version](const OperatorCall& call, const std::vector<Value>&, std::vector<Value>& outputs) {
        EXPECT_EQ(call.since_version(), version);
        for (float& element : outputs[0].mutable_data<float>()) element = static_cast<float>(version);
      };
    }));
  }
  for (const auto& [imported, used] : {std::pair(1, 1), std::pair(2, 1), std::pair(3, 3), std::pair(9, 5)}) {
    GraphMaker m = scaling();
    m.model.opset_imports["com.acme"] = imported;
    EXPECT_EQ(session(m, operators).run({{"x", kOne}})["y"].data<float>()[0], static_cast<float>(used));
  }
  const Error error = error_of_session(scaling(), scale_with([](Operator& op) { op.since_version = 2; }));
  EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_UNSUPPORTED});
  EXPECT_THAT(error.message(), HasSubstr("is registered from version 2 of domain 'com.acme' on"));
  GraphMaker without = scaling();
  without.model.opset_imports.clear();
  EXPECT_EQ(session(without, operators).run({{"x", kOne}})["y"].data<float>()[0], 1)
      << "version 1 is assumed";
}

TEST(Operators, AnUnknownOneIsNamedWithTheNearest) {
  Operators operators;
  operators.add(scale_with([](Operator& op) { op.name = "Scales"; }));
  const Made made = make(scaling(), &operators);
  ASSERT_TRUE(made.error);
  EXPECT_EQ(made.error->kind(), uint32_t{TENON_FAILURE_UNSUPPORTED});
  EXPECT_THAT(made.error->what(), AllOf(HasSubstr("'grow'"), HasSubstr("the nearest name is Scales")));
  const Made without = make(scaling(), nullptr);
  ASSERT_TRUE(without.error);
  EXPECT_THAT(without.error->what(), AllOf(HasSubstr("'grow'"), HasSubstr("operators_add")));
}

TEST(Operators, OfTenonAndThoseThatAreThereAreRefused) {
  Operators operators;
  operators.add(scale());
  struct Case {
    const char *domain, *name, *text;
  };
  for (const Case& each : {Case{"", "Relu", "is one that Tenon knows itself"},
                           Case{"ai.onnx", "Relu", "is one that Tenon knows itself"},
                           Case{"com.microsoft", "Gelu", "is one that Tenon knows itself"},
                           Case{"com.acme", "Scale", "operator com.acme.Scale-1 is registered already"}}) {
    try {
      operators.add(scale_with([&](Operator& op) {
        op.domain = each.domain;
        op.name = each.name;
      }));
      ADD_FAILURE() << each.name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_INVALID_INPUT});
      EXPECT_THAT(error.what(), HasSubstr(each.text));
    }
  }
}

TEST(Operators, AreSharedBySessionsAndNotAffectedByLaterOnes) {
  auto operators = std::make_unique<Operators>();
  operators->add(scale());
  Session first = session(scaling(), *operators);
  operators->add(scale_with([](Operator& op) { op.name = "Other"; }));
  Session second = session(scaling(), *operators);
  operators.reset();
  EXPECT_THAT(first.run({{"x", kOne}})["y"].data<float>(), ElementsAre(3, 0));
  EXPECT_THAT(second.run({{"x", kOne}})["y"].data<float>(), ElementsAre(3, 0));
}

TEST(Operators, EqualNodesAndConstantInputsAreNeitherMergedNorFolded) {
  std::atomic<int> calls{0};
  Operators operators;
  operators.add(scale_with([&](Operator& op) {
    const auto run = op.run;
    op.run = [&, run](const OperatorCall& call, const std::vector<Value>& inputs,
                      std::vector<Value>& outputs) {
      ++calls;
      run(call, inputs, outputs);
    };
  }));
  GraphMaker m;
  m.model.opset_imports["com.acme"] = 1;
  const auto one = m.constant("one", {2}, {1, 2});
  m.output(m.node("Add", {m.node("com.acme:Scale", {one}), m.node("com.acme:Scale", {one})}), "y");
  Session s = session(m, operators);
  EXPECT_EQ(calls, 0);
  EXPECT_THAT(s.run({})["y"].data<float>(), ElementsAre(4, 8));
  EXPECT_EQ(calls, 2);
  s.run({});
  EXPECT_EQ(calls, 4);
}

TEST(Operators, ObeyPlacementAndOnDeclined) {
  Operators operators;
  operators.add(scale());
  Config config = cpu();
  config.set("select.on_declined", "\"error\"");
  Made made = make(scaling(), &operators, config);
  ASSERT_FALSE(made.error) << made.error->what();
  EXPECT_THAT(made.session->run({{"x", kOne}})["y"].data<float>(), ElementsAre(3, 0));
  config = cpu();
  config.set("placement", "[{ match = { node = \"grow\" }, provider = \"cpu\", required = true }]");
  made = make(scaling(), &operators, config);
  ASSERT_TRUE(made.error);
  EXPECT_THAT(made.error->what(), HasSubstr("'grow'"));
}

TEST(Operators, RunBetweenPartsOnADevice) {
  Operators operators;
  operators.add(scale());
  Config config;
  config.set("discovery.search", "[\"" + fakes_dir() + "/accelerator\", \"" + providers_dir() + "\"]");
  config.set("discovery.scan", "\"off\"").set("select.order", "[\"accelerator/npu:0\", \"cpu\"]");
  GraphMaker m;
  m.model.opset_imports["com.acme"] = 1;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 2}));
  const auto before = m.node("Add", {x, x});
  const auto grown = m.node("com.acme:Scale", {before}, {}, "grow");
  m.output(m.node("Mul", {grown, before}), "y");
  Made made = make(m, &operators, config);
  ASSERT_FALSE(made.error) << made.error->what();
  EXPECT_THAT(made.session->run({{"x", kOne}})["y"].data<float>(), ElementsAre(8, 8));
}

TEST(Operators, RunInSlotsAndSubmittedRuns) {
  Operators operators;
  operators.add(scale());
  Session s = session(scaling(), operators);
  Slots slots(s);
  const Value x = numbers({1, 2}, {2, 3});
  slots.bind_input(0, x);
  for (int i = 0; i < 3; ++i) slots.run();
  EXPECT_THAT(slots.output_value(0).data<float>(), ElementsAre(6, 9));
  std::vector<Pending> pending;
  for (int i = 0; i < 20; ++i) pending.push_back(s.submit({{"x", x}}));
  for (Pending& each : pending) EXPECT_THAT(each.wait()["y"].data<float>(), ElementsAre(6, 9));
}

TEST(Operators, MayRunOtherSessions) {
  Operators inner_operators, outer_operators;
  inner_operators.add(scale());
  Session inner = session(scaling(), inner_operators);
  outer_operators.add(scale_with([&](Operator& op) {
    op.run = [&](const OperatorCall&, const std::vector<Value>& inputs, std::vector<Value>& outputs) {
      const Value made = inner.run({{"x", inputs[0]}})["y"];
      outputs[0] = inner.submit({{"x", made}}).wait()["y"];
    };
  }));
  Session outer = session(scaling(), outer_operators);
  RunOptions options;
  std::string trace;
  options.trace = &trace;
  EXPECT_THAT(outer.run({{"x", kOne}}, options)["y"].data<float>(), ElementsAre(9, 0));
  EXPECT_THAT(trace, HasSubstr("custom/cpu:0"));
}

TEST(Operators, AreDestroyedAlsoWhenTheirSessionIsTheLastToKnowThem) {
  auto known = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = known;
  {
    Operators operators;
    operators.add(scale_with([known](Operator& op) {
      const auto infer = op.infer;
      op.infer = [known, infer](const OperatorCall& call) { infer(call); };
    }));
    known.reset();
    Session s = session(scaling(), operators);
    operators = Operators();
    EXPECT_FALSE(watched.expired());
    s.run({{"x", kOne}});
  }
  EXPECT_TRUE(watched.expired());
}

// ---- The table of C ----

/// Counts what a C operator does.
struct Counts {
  std::atomic<int> created{0}, destroyed{0}, runs{0}, freed{0};
  bool create_fails = false;
};

tenon_operator counted(Counts* counts) {
  static const tenon_operator_attribute kAttributes[] = {{as_str("factor"), TENON_ATTR_FLOAT, 0}};
  tenon_operator op{};
  op.struct_size = sizeof(op);
  op.domain = as_str("com.acme");
  op.name = as_str("Scale");
  op.since_version = 1;
  op.min_inputs = op.max_inputs = op.min_outputs = op.max_outputs = 1;
  op.attribute_count = 1;
  op.attributes = kAttributes;
  op.context = counts;
  op.infer = [](void*, const tenon_operator_call* call, tenon_error* error) {
    const int64_t dims[] = {TENON_DIM_UNKNOWN, 2};
    const tenon_str names[] = {as_str("rows"), as_str("")};
    tenon_io_info type{};
    type.struct_size = sizeof(type);
    type.dtype = TENON_FLOAT32;
    type.rank = 2;
    type.dims = dims;
    type.dim_names = names;
    return api().call_set_output(call, 0, &type, error);
  };
  op.create = [](void* context, const tenon_operator_call* call, void** out_state, tenon_error* error) {
    auto* const mine = static_cast<Counts*>(context);
    tenon_io_info type{};
    type.struct_size = sizeof(type);
    EXPECT_EQ(api().call_set_output(call, 0, &type, nullptr), TENON_FAILED_PRECONDITION);
    if (mine->create_fails) {
      std::snprintf(error->message, sizeof(error->message), "no kernel");
      return tenon_status{TENON_UNAVAILABLE};
    }
    ++mine->created;
    *out_state = new float(10);
    return tenon_status{TENON_OK};
  };
  op.destroy = [](void* context, void* state) {
    ++static_cast<Counts*>(context)->destroyed;
    delete static_cast<float*>(state);
  };
  op.run = [](void* context, void* state, const tenon_operator_call*, tenon_value* const* inputs, uint32_t,
              tenon_value** outputs, uint32_t, tenon_error* error) {
    ++static_cast<Counts*>(context)->runs;
    tenon_tensor from{};
    EXPECT_EQ(api().value_tensor(inputs[0], &from), TENON_OK);
    void* data = nullptr;
    const tenon_status status =
        api().value_make_tensor(TENON_FLOAT32, from.rank, from.dims, &outputs[0], &data, error);
    for (uint64_t i = 0; status == TENON_OK && i < from.byte_size / sizeof(float); ++i)
      static_cast<float*>(data)[i] = *static_cast<float*>(state) * static_cast<const float*>(from.data)[i];
    return status;
  };
  op.free_fn = [](void* context) { ++static_cast<Counts*>(context)->freed; };
  return op;
}

TEST(OperatorsOfC, HaveAStatePerNodeAndAreFreedOnce) {
  Counts counts;
  tenon_operators* operators = nullptr;
  ASSERT_EQ(api().operators_create(&operators, nullptr), TENON_OK);
  const tenon_operator op = counted(&counts);
  ASSERT_EQ(api().operators_add(operators, &op, nullptr), TENON_OK);
  EXPECT_EQ(api().operators_add(operators, &op, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(counts.freed, 0) << "what is refused is not freed";
  GraphMaker m;
  m.model.opset_imports["com.acme"] = 1;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 2}));
  m.output(m.node("com.acme:Scale", {m.node("com.acme:Scale", {x})}), "y");
  const std::string bytes = m.bytes();
  const Config config = cpu();
  tenon_session_options options{};
  options.struct_size = sizeof(options);
  options.operators = operators;
  tenon_session* session = nullptr;
  ASSERT_EQ(api().session_create_from_memory(bytes.data(), bytes.size(), 0, as_str(""), config.get(),
                                             &options, &session, nullptr),
            TENON_OK);
  api().operators_release(operators);
  EXPECT_EQ(counts.created, 2);
  tenon_io_info info{};
  info.struct_size = sizeof(info);
  ASSERT_EQ(api().session_output(session, 0, &info), TENON_OK);
  EXPECT_EQ(as_string(info.type_text), "float32[rows,2]");
  for (int i = 0; i < 3; ++i) {
    const tenon_named_value input{as_str("x"), kOne.get()};
    tenon_value* output = nullptr;
    ASSERT_EQ(api().run(session, nullptr, &input, 1, nullptr, 0, &output, nullptr), TENON_OK);
    EXPECT_THAT(Value::adopt(output).data<float>(), ElementsAre(100, -100));
  }
  EXPECT_EQ(counts.runs, 6);
  EXPECT_EQ(counts.destroyed, 0);
  EXPECT_EQ(counts.freed, 0);
  api().session_release(session);
  EXPECT_EQ(counts.destroyed, 2);
  EXPECT_EQ(counts.freed, 1);
}

TEST(OperatorsOfC, AFailureToCreateEndsTheSession) {
  Counts counts;
  counts.create_fails = true;
  tenon_operators* operators = nullptr;
  ASSERT_EQ(api().operators_create(&operators, nullptr), TENON_OK);
  const tenon_operator op = counted(&counts);
  ASSERT_EQ(api().operators_add(operators, &op, nullptr), TENON_OK);
  const std::string bytes = scaling().bytes();
  const Config config = cpu();
  tenon_session_options options{};
  options.struct_size = sizeof(options);
  options.operators = operators;
  tenon_session* session = nullptr;
  tenon_error error{};
  error.struct_size = sizeof(error);
  EXPECT_EQ(api().session_create_from_memory(bytes.data(), bytes.size(), 0, as_str(""), config.get(),
                                             &options, &session, &error),
            TENON_UNAVAILABLE);
  EXPECT_EQ(api().error_kind(&error), uint32_t{TENON_FAILURE_OPERATOR});
  EXPECT_EQ(as_string(api().error_part(&error, TENON_ERROR_PART_NODE)), "grow");
  EXPECT_STREQ(error.message, "no kernel");
  EXPECT_EQ(counts.created, 0);
  EXPECT_EQ(counts.destroyed, 0);
  api().operators_release(operators);
  EXPECT_EQ(counts.freed, 1);
}

}  // namespace
}  // namespace tenon::test
