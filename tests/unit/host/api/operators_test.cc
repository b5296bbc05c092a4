// Operators that an application registers: what they get, and what they give.
#include <atomic>

#include "tests/unit/host/api/operators_case.h"

namespace tenon::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

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
      if (call.value(2)) {
        const std::span<const float> data = call.value(2).data<float>();
        EXPECT_EQ(reinterpret_cast<uintptr_t>(data.data()) % 64, 0u);
        known.push_back(data[0]);
      }
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

}  // namespace
}  // namespace tenon::test
