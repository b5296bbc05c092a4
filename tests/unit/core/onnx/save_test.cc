#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/onnx/onnx.h"
#include "tests/unit/core/onnx/message.h"

namespace tenon::onnx {
namespace {

using namespace test;  // a vocabulary for messages
using testing::ElementsAre;
using testing::HasSubstr;

ir::Model reload(const ir::Model& model) {
  auto bytes = save_bytes(model);
  EXPECT_TRUE(bytes.ok()) << bytes.status().to_string();
  if (!bytes.ok()) return {};
  auto again = load_bytes(bytes->data(), bytes->size());
  EXPECT_TRUE(again.ok()) << again.status().to_string();
  return again.ok() ? std::move(again).value() : ir::Model();
}

ir::Model load_ok(const Message& message) {
  auto model = load_bytes(message.data().data(), message.data().size());
  EXPECT_TRUE(model.ok()) << model.status().to_string();
  return model.ok() ? std::move(model).value() : ir::Model();
}

void expect_round_trip(const Message& message) {
  ir::Model model = load_ok(message);
  EXPECT_EQ(to_text(reload(model).graph), to_text(model.graph));
}

const std::vector<Message> kX = {value_info("x", kFloat, {2})}, kY = {value_info("y", kFloat, {2})};

TEST(Save, KeepsWhatTheModelSaysOfItself) {
  Message message = simple_model(node("Neg", {"x"}, {"y"}, "n"));
  message.bytes(2, "maker").bytes(3, "1.2").bytes(4, "org.example").number(5, 7).bytes(6, "doc");
  message.message(14, Message().bytes(1, "k").bytes(2, "v")).message(8, opset(2, "com.example"));
  ir::Model model = reload(load_ok(message));
  EXPECT_EQ(model.ir_version, 10);
  EXPECT_EQ(model.producer_name, "maker");
  EXPECT_EQ(model.producer_version, "1.2");
  EXPECT_EQ(model.domain, "org.example");
  EXPECT_EQ(model.model_version, 7);
  EXPECT_EQ(model.doc, "doc");
  EXPECT_EQ(model.metadata.at("k"), "v");
  EXPECT_EQ(model.opset_imports.at("com.example"), 2);
}

TEST(Save, KeepsDefaultsConstantsAndConstantOutputs) {
  Message w = raw_tensor("w", kFloat, {2}, raw_of<float>({1, 2}));
  Message d = raw_tensor("d", kFloat, {2}, raw_of<float>({3, 4}));
  std::vector<Message> inputs = {kX[0], value_info("d", kFloat, {2})};
  std::vector<Message> outputs = {kY[0], value_info("w", kFloat, {2})};
  Message graph = graph_of({node("Sum", {"x", "w", "d"}, {"y"})}, inputs, outputs, {w, d});
  expect_round_trip(model_of(graph));
  ir::Model before_defaults = load_ok(model_of(graph, 8, 3));
  EXPECT_EQ(reload(before_defaults).graph.inputs().size(), 1u);
}

TEST(Save, KeepsNestedGraphsAndTheirCaptures) {
  auto branch = [](const std::string& op, const std::string& out) {
    return graph_of({node(op, {"x"}, {out})}, {}, {value_info(out, kFloat, {2})});
  };
  Message the_if = node("If", {"c"}, {"y"})
                       .message(5, graph_attribute("then_branch", branch("Neg", "a")))
                       .message(5, graph_attribute("else_branch", branch("Abs", "a")));
  expect_round_trip(model_of(graph_of({the_if}, {kX[0], value_info("c", kBool, {})}, kY)));
}

TEST(Save, GivesNestedValuesNamesOfTheirOwn) {
  ir::Model model = load_ok(simple_model(node("Neg", {"x"}, {"y"})));
  ir::Graph& graph = model.graph;
  ir::ValueId c = graph.add_value("c", ir::Type::tensor(ir::ElementType::kBool, ir::Shape::of({})));
  graph.add_input(c);
  ir::Type type = graph.value(graph.find_value("y")).type;
  ir::ValueId z = graph.add_value("z", type);
  auto body = [&] {
    ir::Graph nested;
    ir::ValueId captured = nested.add_capture(graph.find_value("y"), "local", type);
    ir::ValueId out = nested.add_value("y", type);  // the name of the captured value outside
    ir::Node neg;
    neg.op_type = "Neg";
    neg.inputs = {captured};
    neg.outputs = {out};
    nested.add_node(std::move(neg));
    nested.add_output(out);
    return nested;
  };
  ir::Node branch;
  branch.op_type = "If";
  branch.inputs = {c};
  branch.outputs = {z};
  branch.attributes = {ir::Attribute::of_graph("then_branch", body()),
                       ir::Attribute::of_graph("else_branch", body())};
  graph.add_node(std::move(branch));
  graph.add_output(z);
  ir::Model again = reload(model);
  const ir::Node& node = again.graph.node(again.graph.value(again.graph.find_value("z")).producer);
  const ir::Graph& nested = *node.find("then_branch")->graphs[0];
  EXPECT_EQ(nested.captures()[0].outer, again.graph.find_value("y"));
  EXPECT_EQ(nested.value(nested.outputs()[0]).name, "y_1");
}

TEST(Save, KeepsFunctions) {
  Message constant = node("Constant", {}, {"k"}).message(5, attribute("value_float", 1).real(2, 2));
  Message scaled = node("LeakyRelu", {"p"}, {"q"}).message(5, attribute("alpha", 1).bytes(21, "slope"));
  Message function = Message()
                         .bytes(1, "f")
                         .bytes(4, "a")
                         .bytes(5, "q")
                         .bytes(6, "slope")
                         .message(7, constant)
                         .message(7, node("Mul", {"a", "k"}, {"p"}))
                         .message(7, scaled)
                         .message(9, opset(21))
                         .bytes(10, "local");
  Message call = node("f", {"x"}, {"y"}, "call", "local").message(5, attribute("slope", 1).real(2, 0.5f));
  Message message = simple_model(call).message(8, opset(1, "local")).message(25, function);
  ir::Model model = load_ok(message), again = reload(model);
  ASSERT_EQ(again.functions.size(), 1u);
  const ir::Function& f = again.functions[0];
  EXPECT_EQ(f.domain, "local");
  EXPECT_THAT(f.attributes, ElementsAre("slope"));
  EXPECT_EQ(f.opset_imports.at(""), 21);
  EXPECT_EQ(to_text(f.body), to_text(model.functions[0].body));
  EXPECT_EQ(to_text(again.graph), to_text(model.graph));
}

TEST(Save, WritesAFileWholeOrNotAtAll) {
  std::string folder = testing::TempDir() + "tenon_save";
  std::filesystem::create_directories(folder);
  std::string path = folder + "/m.onnx";
  ir::Model model = load_ok(simple_model(node("Neg", {"x"}, {"y"})));
  ASSERT_TRUE(save(model, path).ok());
  auto again = load(path);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(again->path, path);
  Status status = save(model, folder + "/missing/m.onnx");
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.to_string(), HasSubstr("missing/m.onnx"));
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path().filename());
  EXPECT_THAT(files, ElementsAre("m.onnx"));
}

TEST(Save, RefusesABrokenGraph) {
  ir::Model model = load_ok(simple_model(node("Neg", {"x"}, {"y"})));
  model.graph.remove_node(0);
  EXPECT_THAT(save_bytes(model).status().to_string(), HasSubstr("'y' is used, but nothing produces it"));
}

}  // namespace
}  // namespace tenon::onnx
