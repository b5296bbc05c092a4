#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/onnx/onnx.h"
#include "tests/unit/core/onnx/message.h"

namespace tenon::onnx {
namespace {

using namespace test;  // a vocabulary for messages
using testing::ElementsAre;
using testing::HasSubstr;

Result<ir::Model> load_message(const Message& model, const Limits& limits = {}) {
  return load_bytes(model.data().data(), model.data().size(), {}, limits);
}

ir::Model load_ok(const Message& message, const Limits& limits = {}) {
  auto model = load_message(message, limits);
  EXPECT_TRUE(model.ok()) << model.status().to_string();
  if (!model.ok()) return {};
  Status sound = verify(model->graph);
  EXPECT_TRUE(sound.ok()) << sound.to_string();
  return std::move(model).value();
}

void expect_failure(const Message& message, ErrorKind kind, const std::vector<std::string>& parts,
                    const Limits& limits = {}) {
  auto model = load_message(message, limits);
  ASSERT_FALSE(model.ok()) << "expected: " << parts[0];
  EXPECT_EQ(model.error().kind(), kind) << model.error().to_string();
  for (const std::string& part : parts) EXPECT_THAT(model.error().to_string(), HasSubstr(part));
}

void expect_invalid(const Message& message, const std::vector<std::string>& parts) {
  expect_failure(message, ErrorKind::kInvalidModel, parts);
}

const std::vector<Message> kX = {value_info("x", kFloat, {2})}, kY = {value_info("y", kFloat, {2})};

TEST(Load, ReadsASmallModel) {
  Message w = raw_tensor("w", kFloat, {2}, raw_of<float>({1, 2}));
  Message message = simple_model(node("Add", {"x", "w"}, {"y"}, "add"), {w});
  message.bytes(2, "producer").message(14, Message().bytes(1, "key").bytes(2, "value"));
  ir::Model model = load_ok(message);
  EXPECT_EQ(model.producer_name, "producer");
  EXPECT_EQ(model.metadata.at("key"), "value");
  EXPECT_EQ(model.opset_imports.at(""), 21);
  ASSERT_EQ(model.graph.node_count(), 1u);
  EXPECT_EQ(model.graph.node(0).since_version, 14);
  ir::ValueId weight = model.graph.find_value("w");
  ASSERT_NE(weight, ir::kNone);
  EXPECT_EQ(model.graph.value(weight).type.to_string(), "float32[2]");
  EXPECT_THAT(model.graph.inputs(), ElementsAre(model.graph.find_value("x")));
}

TEST(Load, ADimensionWhoseNameHasNoLetterIsUnknown) {
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{{"?", "float32[?]"},
                                                                                   {"-1", "float32[?]"},
                                                                                   {"N", "float32[N]"},
                                                                                   {"_", "float32[_]"},
                                                                                   {"2N", "float32[2N]"}}) {
    const Message shape = Message().message(1, Message().bytes(2, name));
    const Message type = Message().message(1, Message().number(1, kFloat).message(2, shape));
    const Message x = Message().bytes(1, "x").message(2, type);
    const ir::Model model = load_ok(model_of(graph_of({node("Relu", {"x"}, {"y"})}, {x}, kY)));
    EXPECT_EQ(model.graph.value(model.graph.find_value("x")).type.to_string(), text);
  }
}

TEST(Load, InfersTypesOfInnerValues) {
  ir::Model model =
      load_ok(model_of(graph_of({node("Relu", {"x"}, {"h"}), node("Neg", {"h"}, {"y"})}, kX, kY)));
  EXPECT_EQ(model.graph.value(model.graph.find_value("h")).type.to_string(), "float32[2]");
}

TEST(Load, AcceptsNodesOutOfOrderAndRefusesCycles) {
  ir::Model model =
      load_ok(model_of(graph_of({node("Neg", {"h"}, {"y"}), node("Relu", {"x"}, {"h"})}, kX, kY)));
  EXPECT_THAT(model.graph.topological_order().value(), ElementsAre(1u, 0u));
  expect_invalid(model_of(graph_of({node("Add", {"x", "b"}, {"a"}, "one"), node("Neg", {"a"}, {"b"}, "two"),
                                    node("Neg", {"a"}, {"y"}, "after")},
                                   kX, kY)),
                 {"cycle", "node '"});
}

TEST(Load, InitializersThatAreInputsAreDefaultsFromIrVersion4On) {
  Message graph = graph_of({node("Add", {"x", "w"}, {"y"})}, {kX[0], value_info("w", kFloat, {2})}, kY,
                           {raw_tensor("w", kFloat, {2}, raw_of<float>({1, 2}))});
  ir::Model now = load_ok(model_of(graph, 21, 10));
  EXPECT_EQ(now.graph.inputs().size(), 2u);
  ASSERT_EQ(now.graph.defaults().size(), 1u);
  EXPECT_EQ(now.graph.defaults()[0].input, now.graph.find_value("w"));
  EXPECT_FALSE(now.graph.value(now.graph.find_value("w")).is_constant());
  ir::Model before = load_ok(model_of(graph, 8, 3));
  EXPECT_EQ(before.graph.inputs().size(), 1u);
  EXPECT_TRUE(before.graph.defaults().empty());
  EXPECT_TRUE(before.graph.value(before.graph.find_value("w")).is_constant());
}

TEST(Load, ConstantNodesBecomeConstants) {
  Message constant =
      node("Constant", {}, {"c"}).message(5, attribute("value_floats", 6).real(7, 1).real(7, 2));
  ir::Model model = load_ok(model_of(graph_of({constant, node("Add", {"x", "c"}, {"y"})}, kX, kY)));
  EXPECT_EQ(model.graph.node_count(), 1u);
  const ir::Value& value = model.graph.value(model.graph.find_value("c"));
  ASSERT_TRUE(value.is_constant());
  EXPECT_EQ(value.type.to_string(), "float32[2]");
}

TEST(Load, EveryKindOfConstant) {
  auto constant = [](const Message& value) {
    Message message = node("Constant", {}, {"c"}, "constant").message(5, value);
    return model_of(graph_of({message, node("Identity", {"x"}, {"y"})}, kX, kY));
  };
  auto type_of = [&](const Message& value) {
    ir::Model model = load_ok(constant(value));
    ir::ValueId id = model.graph.find_value("c");
    return id == ir::kNone ? "nothing" : model.graph.value(id).type.to_string();
  };
  EXPECT_EQ(type_of(int_attribute("value_int", 3)), "int64[]");
  EXPECT_EQ(type_of(attribute("value_ints", 7).number(8, 3).number(8, 4)), "int64[2]");
  EXPECT_EQ(type_of(attribute("value_float", 1).real(2, 3)), "float32[]");
  EXPECT_EQ(type_of(attribute("value_string", 3).bytes(4, "s")), "string[]");
  EXPECT_EQ(type_of(attribute("value_strings", 8).bytes(9, "s").bytes(9, "t")), "string[2]");
  EXPECT_EQ(type_of(attribute("value", 4).message(5, raw_tensor("", kInt32, {1}, raw_of<int32_t>({1})))),
            "int32[1]");
  Message sparse = Message()
                       .message(1, raw_tensor("", kFloat, {1}, raw_of<float>({1})))
                       .message(2, raw_tensor("", kInt64, {1}, raw_of<int64_t>({1})))
                       .number(3, 3);
  EXPECT_EQ(type_of(attribute("sparse_value", 11).message(22, sparse)), "float32[3]");
  expect_invalid(constant(int_attribute("value_float", 3)), {"node 'constant'", "attribute 'value_float'"});
}

TEST(Load, BodiesCaptureThroughLevels) {
  auto branch = [](const Message& inner_node) {
    return graph_of({inner_node}, {}, {value_info("r", kFloat, {2})});
  };
  Message inner_if =
      node("If", {"c"}, {"r"}, "inner")
          .message(5, graph_attribute("then_branch", graph_of({node("Neg", {"x"}, {"r2"})}, {},
                                                              {value_info("r2", kFloat, {2})})))
          .message(5, graph_attribute("else_branch", graph_of({node("Abs", {"x"}, {"r3"})}, {},
                                                              {value_info("r3", kFloat, {2})})));
  Message outer_if =
      node("If", {"c"}, {"y"}, "outer")
          .message(5, graph_attribute("then_branch", branch(inner_if)))
          .message(5, graph_attribute("else_branch", graph_of({node("Relu", {"x"}, {"s"})}, {},
                                                              {value_info("s", kFloat, {2})})));
  ir::Model model = load_ok(model_of(graph_of({outer_if}, {kX[0], value_info("c", kBool, {})}, kY)));
  const ir::Graph& then_branch = *model.graph.node(0).find("then_branch")->graphs[0];
  ASSERT_EQ(then_branch.captures().size(), 2u);
  EXPECT_EQ(then_branch.captures()[0].outer, model.graph.find_value("c"));
  EXPECT_EQ(then_branch.captures()[1].outer, model.graph.find_value("x"));
  const ir::Graph& innermost = *then_branch.node(0).find("then_branch")->graphs[0];
  EXPECT_EQ(innermost.captures()[0].outer, then_branch.captures()[1].inner);
}

TEST(Load, AConstantMayBeThereTwiceWhenBothAreEqual) {
  const Message w = raw_tensor("w", kFloat, {2}, raw_of<float>({1, 2}));
  const ir::Model listed = load_ok(simple_model(node("Add", {"x", "w"}, {"y"}), {w, w}));
  EXPECT_TRUE(listed.graph.value(listed.graph.find_value("w")).is_constant());

  const auto made = [](float second) {
    const Message value =
        attribute("value", 4).message(5, raw_tensor("", kFloat, {2}, raw_of<float>({1, second})));
    return node("Constant", {}, {"w"}).message(5, value);
  };
  const Message add = node("Add", {"x", "w"}, {"y"});
  load_ok(model_of(graph_of({made(2), made(2), add}, kX, kY)));
  load_ok(model_of(graph_of({made(2), add}, kX, kY, {w})));
  expect_invalid(model_of(graph_of({made(2), made(3), add}, kX, kY)), {"'w' is defined twice", "a constant"});
  expect_invalid(model_of(graph_of({made(3), add}, kX, kY, {w})), {"'w' is defined twice"});
}

TEST(Load, TheDefaultDomainHasTwoNames) {
  const Message empty = opset(13), full = opset(21, "ai.onnx");
  for (const bool full_first : {false, true}) {
    const auto both = [&](std::string_view written) {
      const Message graph = graph_of({node("Relu", {"x"}, {"y"}, "r", written)}, kX, kY);
      return Message()
          .number(1, 10)
          .message(8, full_first ? full : empty)
          .message(8, full_first ? empty : full)
          .message(7, graph);
    };
    EXPECT_EQ(load_ok(both("")).opset_imports.at(""), 13);
    EXPECT_EQ(load_ok(both("ai.onnx")).opset_imports.at(""), 21);
  }
  const Message mixed =
      graph_of({node("Relu", {"x"}, {"h"}), node("Neg", {"h"}, {"y"}, "n", "ai.onnx")}, kX, kY);
  expect_invalid(model_of(mixed, 13).message(8, opset(21, "ai.onnx")),
                 {"twice", "13", "21", "nodes use both names"});
}

TEST(Load, ADomainThatIsNotImportedIsTakenAtItsNewestAndSaid) {
  const Message graph = graph_of({node("Binarizer", {"x"}, {"y"}, "b", "ai.onnx.ml")}, kX, kY);
  std::vector<std::string> notices;
  Limits limits;
  limits.notices = &notices;
  const ir::Model model = load_ok(model_of(graph), limits);
  EXPECT_GE(model.opset_imports.at("ai.onnx.ml"), 5);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_THAT(notices[0], HasSubstr("'ai.onnx.ml'"));
  EXPECT_THAT(notices[0], HasSubstr("Add the domain to opset_import"));
  notices.clear();
  load_ok(model_of(graph).message(8, opset(3, "ai.onnx.ml")), limits);
  EXPECT_TRUE(notices.empty());
}

TEST(Load, RefusesNamesDefinedTwice) {
  Message w = raw_tensor("w", kFloat, {2}, raw_of<float>({1, 2}));
  expect_invalid(model_of(graph_of({node("Neg", {"x"}, {"y"}, "a"), node("Abs", {"x"}, {"y"}, "b")}, kX, kY)),
                 {"node 'b'", "'y' is defined twice", "another node"});
  expect_invalid(model_of(graph_of({node("Neg", {"x"}, {"x"}, "a")}, kX, kY)), {"'x'", "a graph input"});
  expect_invalid(model_of(graph_of({node("Neg", {"x"}, {"w"}, "a")}, kX, kY, {w})), {"'w'", "a constant"});
  expect_invalid(
      simple_model(node("Add", {"x", "w"}, {"y"}), {w, raw_tensor("w", kFloat, {2}, raw_of<float>({1, 3}))}),
      {"initializer 'w'", "two initializers"});
  expect_invalid(model_of(graph_of({node("Neg", {"x"}, {"y"})}, {kX[0], kX[0]}, kY)), {"'x'", "twice"});
  Message body = graph_of({node("Neg", {"x"}, {"h"})}, {}, {value_info("h", kFloat, {2})});
  Message branch = node("If", {"c"}, {"y"}, "if")
                       .message(5, graph_attribute("then_branch", body))
                       .message(5, graph_attribute("else_branch", body));
  expect_invalid(
      model_of(graph_of({node("Abs", {"x"}, {"h"}), branch}, {kX[0], value_info("c", kBool, {})}, kY)),
      {"node 'if'", "'h'", "outer graph"});
}

TEST(Load, RefusesWhatIsDangling) {
  expect_invalid(simple_model(node("Add", {"x", "ghost"}, {"y"}, "add")), {"node 'add'", "'ghost'"});
  expect_invalid(model_of(graph_of({node("Neg", {"x"}, {"y"})}, kX, {value_info("phantom", kFloat, {2})})),
                 {"graph output 'phantom'"});
}

TEST(Load, RefusesVersionsItDoesNotKnow) {
  Message graph = graph_of({node("Neg", {"x"}, {"y"})}, kX, kY);
  expect_failure(model_of(graph, 9999), ErrorKind::kUnsupported, {"9999", "ai.onnx", "convert"});
  expect_failure(model_of(graph, 21, 999), ErrorKind::kUnsupported, {"999", "export"});
  expect_invalid(model_of(graph, 0), {"opset 0"});
  expect_invalid(model_of(graph, 21, 0), {"ir_version is 0"});
  expect_invalid(Message().number(1, 10).message(7, graph), {"no opset_import"});
  expect_invalid(model_of(graph, 21).message(8, opset(13)), {"twice", "21", "13"});
  expect_invalid(Message().number(1, 10).message(8, opset(21)), {"no graph"});
}

TEST(Load, RefusesNodesOfTheDefaultDomainWhenItIsNotImported) {
  const Message graph = graph_of({node("Relu", {"x"}, {"y"}, "cut")}, kX, kY);
  expect_invalid(Message().number(1, 10).message(8, opset(3, "ai.onnx.ml")).message(7, graph),
                 {"node 'cut'", "'ai.onnx'", "opset_import"});
}

TEST(Load, RefusesAttributesThatLie) {
  auto with = [](const Message& value) {
    return simple_model(node("Softmax", {"x"}, {"y"}, "soft").message(5, value));
  };
  load_ok(with(int_attribute("axis", 0)));
  expect_invalid(with(Message().bytes(1, "axis").number(3, 1)),
                 {"node 'soft'", "attribute 'axis'", "no type"});
  expect_invalid(with(attribute("axis", 2).real(7, 1)),
                 {"attribute 'axis'", "declared as int and holds floats"});
  expect_invalid(with(attribute("axis", 2).number(3, 1).real(2, 1)), {"both float and int"});
  expect_invalid(with(attribute("axis", 4)), {"declared as tensor and holds nothing"});
  expect_invalid(with(attribute("axis", 2).bytes(21, "outer")), {"'outer'", "of a function"});
  expect_invalid(simple_model(node("Softmax", {"x"}, {"y"}, "soft")
                                  .message(5, int_attribute("axis", 0))
                                  .message(5, int_attribute("axis", 0))),
                 {"'axis' is given twice"});
}

TEST(Load, RefusesBytesThatAreNoMessage) {
  std::string whole = simple_model(node("Neg", {"x"}, {"y"})).data();
  expect_invalid(Message(), {"empty"});
  expect_invalid(Message().raw(whole.substr(0, whole.size() / 2)), {"not an ONNX model"});
  expect_invalid(Message().raw("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), {"not an ONNX model"});
  expect_invalid(Message().raw("version https://git-lfs.github.com/spec/v1\n"), {"git lfs pull"});
  expect_invalid(Message().raw("<!DOCTYPE html>"), {"web page"});
  expect_invalid(Message().raw("ir_version: 8\ngraph {"), {"text form"});
}

TEST(Load, NamesAreUtf8) {
  expect_invalid(simple_model(node("Neg", {"x"}, {"y", "\xff\xfe"}, "n")), {"UTF-8"});
  expect_invalid(simple_model(node("Neg", {"x"}, {"y", std::string("a\0b", 3)}, "n")), {"zero byte"});
  load_ok(simple_model(node("Neg", {"x"}, {"y"}, "Größe 測 😀")));
}

TEST(Load, LimitsAreChecked) {
  Message chain = graph_of({node("Neg", {"x"}, {"h"}), node("Neg", {"h"}, {"y"})}, kX, kY);
  Limits limits;
  limits.nodes = 1;
  expect_failure(model_of(chain), ErrorKind::kLimitExceeded, {"more than 1 nodes", "limits.nodes"}, limits);
  limits = {};
  limits.model_bytes = 10;
  expect_failure(model_of(chain), ErrorKind::kLimitExceeded, {"limits.model_bytes"}, limits);
  limits = {};
  limits.rank = 3;
  expect_failure(
      simple_model(node("Neg", {"x"}, {"y"}), {raw_tensor("w", kFloat, {1, 1, 1, 1}, raw_of<float>({1}))}),
      ErrorKind::kLimitExceeded, {"tensor 'w'", "rank"}, limits);
  limits = {};
  limits.graph_depth = 0;
  Message body = graph_of({node("Neg", {"x"}, {"h"})}, {}, {value_info("h", kFloat, {2})});
  expect_failure(simple_model(node("If", {"x"}, {"y"}).message(5, graph_attribute("then_branch", body))),
                 ErrorKind::kLimitExceeded, {"limits.graph_depth"}, limits);
}

TEST(Load, PartsThatAreEmptyAreCounted) {
  Message graph = graph_of({node("Neg", {"x"}, {"y"})}, kX, kY);
  std::string empties;
  for (int i = 0; i < 1'500'000; ++i) empties += std::string("\x6a\x00", 2);  // value_info
  expect_failure(model_of(graph.raw(empties)), ErrorKind::kLimitExceeded, {"messages"});
}

}  // namespace
}  // namespace tenon::onnx
