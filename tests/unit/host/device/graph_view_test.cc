#include "host/device/graph_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace tenon::runtime {
namespace {

using ::testing::ElementsAre;

std::string text(tenon_str s) { return {s.data, static_cast<size_t>(s.size)}; }

template <class Info>
Info sized() {
  Info info{};
  info.struct_size = sizeof(info);
  return info;
}
tenon_graph_info info_of(const tenon_graph* graph) {
  auto info = sized<tenon_graph_info>();
  EXPECT_EQ(graph_info(graph, &info), TENON_OK);
  return info;
}
tenon_node_info node_of(const tenon_graph* graph, uint32_t node) {
  auto info = sized<tenon_node_info>();
  EXPECT_EQ(graph_node(graph, node, &info), TENON_OK);
  return info;
}
tenon_value_info value_of_view(const tenon_graph* graph, uint32_t value) {
  auto info = sized<tenon_value_info>();
  EXPECT_EQ(graph_value(graph, value, &info), TENON_OK);
  return info;
}
tenon_attribute attribute_of(const tenon_graph* graph, uint32_t node, const char* name) {
  auto out = sized<tenon_attribute>();
  EXPECT_EQ(graph_find_attribute(graph, node, {name, std::strlen(name)}, &out), TENON_OK);
  return out;
}

/// y = Relu(Add(x, w)); z = Loop(y) with a body that captures x.
class GraphViewTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto type = ir::Type::tensor(ir::ElementType::kFloat32, ir::Shape({ir::Dim("N"), ir::Dim(3)}));
    x = graph.add_value("x", type);
    graph.add_input(x);
    std::vector<std::byte> bytes(13);
    auto storage = std::make_shared<std::vector<std::byte>>(64 + 13, std::byte{7});
    w_tensor = *ir::Tensor::refer(ir::ElementType::kFloat32, {3}, storage->data() + 1, 12, storage);
    w = graph.add_constant("w", w_tensor);
    h = graph.add_value("h", type);
    y = graph.add_value("y", type);
    add = node("add", "Add", {x, w}, {h}, {});
    relu = node("relu", "Relu", {h}, {y}, {});
    ir::Graph body;
    body.name = "body";
    const auto i = body.add_value("i", ir::Type::tensor(ir::ElementType::kInt64, ir::Shape::of({})));
    body.add_input(i);
    body.add_output(body.add_capture(x, "x_inside", type));
    const auto z = graph.add_value("z", type);
    loop = node("loop", "Loop", {y, ir::kNone}, {z},
                {ir::Attribute::of_graph("body", std::move(body)),
                 ir::Attribute::of_strings("names", {"a", "bc"}), ir::Attribute::of_ints("axes", {1, -1}),
                 ir::Attribute::of_float("alpha", 0.5f), ir::Attribute::of_tensor("value", w_tensor)});
    graph.add_output(z);
    source.graph = &graph;
    source.opset_imports = &opsets;
    source.constants = &constants;
    source.is_control_flow = [](const ir::Node& n) { return n.op_type == "Loop"; };
  }

  ir::NodeId node(std::string name, std::string op, std::vector<ir::ValueId> in, std::vector<ir::ValueId> out,
                  std::vector<ir::Attribute> attributes) {
    ir::Node n;
    n.name = std::move(name);
    n.op_type = std::move(op);
    n.since_version = 7;
    n.inputs = std::move(in);
    n.outputs = std::move(out);
    n.attributes = std::move(attributes);
    return graph.add_node(std::move(n));
  }

  ir::Graph graph;
  std::map<std::string, int64_t> opsets = {{"", 21}, {"com.acme", 2}};
  ConstantPool constants;
  GraphSource source;
  ir::TensorPtr w_tensor;
  ir::ValueId x = 0, w = 0, h = 0, y = 0;
  ir::NodeId add = 0, relu = 0, loop = 0;
};

TEST_F(GraphViewTest, TheWholeGraph) {
  const GraphView view = *GraphView::whole(source, [&](ir::NodeId id) { return id == relu; });
  const tenon_graph_info info = info_of(view.handle());
  EXPECT_EQ(info.node_count, 3u);
  EXPECT_EQ(info.input_count, 1u);
  EXPECT_EQ(info.output_count, 1u);
  EXPECT_EQ(info.opset_count, 2u);
  EXPECT_EQ(text(info.opsets[1].domain), "com.acme");
  EXPECT_EQ(view.value_id(info.inputs[0]), x);
  EXPECT_EQ(info.flags, 0u);

  const tenon_node_info first = node_of(view.handle(), 0), second = node_of(view.handle(), 1);
  EXPECT_EQ(text(first.op_type), "Add");
  EXPECT_EQ(first.since_version, 7);
  EXPECT_EQ(first.flags, 0u);
  EXPECT_EQ(second.flags, static_cast<uint32_t>(TENON_NODE_TAKEN));
  EXPECT_EQ(node_of(view.handle(), 2).flags, static_cast<uint32_t>(TENON_NODE_CONTROL_FLOW));
  EXPECT_EQ(node_of(view.handle(), 2).inputs[1], TENON_NO_INDEX);
  EXPECT_EQ(first.outputs[0], second.inputs[0]);
  ASSERT_EQ(node_of(view.handle(), 2).capture_count, 1u);
  EXPECT_EQ(node_of(view.handle(), 2).captures[0], first.inputs[0]);

  const tenon_value_info vx = value_of_view(view.handle(), first.inputs[0]);
  EXPECT_EQ(text(vx.name), "x");
  EXPECT_EQ(vx.flags, static_cast<uint32_t>(TENON_VALUE_INPUT));
  EXPECT_EQ(vx.rank, 2);
  EXPECT_EQ(vx.dims[0], TENON_DIM_UNKNOWN);
  EXPECT_EQ(vx.dims[1], 3);
  EXPECT_EQ(vx.producer, TENON_NO_INDEX);
  EXPECT_EQ(vx.consumer_count, 2u);  // Add, and the body of Loop
  const tenon_value_info vw = value_of_view(view.handle(), first.inputs[1]);
  EXPECT_EQ(vw.flags, static_cast<uint32_t>(TENON_VALUE_CONSTANT));
  EXPECT_EQ(value_of_view(view.handle(), second.inputs[0]).producer, 0u);
}

TEST_F(GraphViewTest, SaysWhetherItIsWeighed) {
  const auto none_taken = [](ir::NodeId) { return false; };
  EXPECT_EQ(info_of(GraphView::whole(source, none_taken)->handle()).flags & TENON_GRAPH_WEIGHED, 0u);
  source.is_weighed = true;
  EXPECT_EQ(info_of(GraphView::whole(source, none_taken)->handle()).flags & TENON_GRAPH_WEIGHED,
            uint32_t{TENON_GRAPH_WEIGHED});
}

TEST_F(GraphViewTest, OneClaimInTheOrderOfRun) {
  const std::vector<ir::NodeId> nodes = {relu, add};
  const std::vector<ir::ValueId> inputs = {x}, outputs = {y};
  std::unordered_map<ir::ValueId, ir::Type> types;
  types[x] = ir::Type::tensor(ir::ElementType::kFloat32, ir::Shape::of({5, 3}));
  const GraphView view = *GraphView::of_claim(source, {nodes, inputs, outputs, &types});
  const tenon_graph_info info = info_of(view.handle());
  EXPECT_EQ(info.flags, static_cast<uint32_t>(TENON_GRAPH_STATIC));
  EXPECT_EQ(info.node_count, 2u);
  EXPECT_EQ(info.value_count, 4u);
  EXPECT_EQ(text(node_of(view.handle(), 0).name), "add");
  EXPECT_EQ(view.node_id(1), relu);
  EXPECT_EQ(value_of_view(view.handle(), info.inputs[0]).dims[0], 5);
  EXPECT_EQ(view.index_of(y), info.outputs[0]);
  EXPECT_EQ(view.index_of(graph.find_value("z")), TENON_NO_INDEX);
}

TEST_F(GraphViewTest, ConstantsAreAlignedAndShared) {
  const std::vector<ir::NodeId> nodes = {add};
  const std::vector<ir::ValueId> inputs = {x}, outputs = {h};
  GraphView one = *GraphView::of_claim(source, {nodes, inputs, outputs});
  GraphView two = *GraphView::of_claim(source, {nodes, inputs, outputs});
  tenon_tensor a{}, b{};
  ASSERT_EQ(graph_constant(one.handle(), one.index_of(w), &a), TENON_OK);
  ASSERT_EQ(graph_constant(two.handle(), two.index_of(w), &b), TENON_OK);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data) % 64, 0u);
  EXPECT_NE(a.data, w_tensor->data());
  EXPECT_EQ(a.data, b.data);
  EXPECT_EQ(std::memcmp(a.data, w_tensor->data(), 12), 0);
  EXPECT_EQ(graph_constant(one.handle(), one.index_of(x), &a), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(one.take_constants().size(), 1u);
  EXPECT_EQ(graph_constant_consumed(two.handle(), two.index_of(w)), TENON_OK);
  EXPECT_TRUE(two.take_constants().empty());
}

TEST_F(GraphViewTest, AConsumedConstantGoesAtOnceAndMayBeReadAgain) {
  const std::vector<ir::NodeId> nodes = {add};
  const std::vector<ir::ValueId> inputs = {x}, outputs = {h};
  GraphView view = *GraphView::of_claim(source, {nodes, inputs, outputs});
  const uint32_t index = view.index_of(w);
  EXPECT_EQ(graph_constant_consumed(view.handle(), index), TENON_OK) << "before it was read";
  tenon_tensor tensor{};
  ASSERT_EQ(graph_constant(view.handle(), index, &tensor), TENON_OK);
  {
    const std::weak_ptr<const AlignedConstant> kept = *source.constants->get(w_tensor);
    EXPECT_EQ(kept.use_count(), 1) << "the view's";
    EXPECT_EQ(graph_constant_consumed(view.handle(), index), TENON_OK);
    EXPECT_TRUE(kept.expired());
  }
  ASSERT_EQ(graph_constant(view.handle(), index, &tensor), TENON_OK);
  EXPECT_EQ(std::memcmp(tensor.data, w_tensor->data(), 12), 0);
  EXPECT_EQ(view.take_constants().size(), 1u);
}

TEST_F(GraphViewTest, AttributesOfEveryKind) {
  const GraphView view = *GraphView::whole(source, {});
  const tenon_graph* g = view.handle();
  EXPECT_EQ(node_of(g, 2).attribute_count, 5u);
  const tenon_attribute names = attribute_of(g, 2, "names");
  ASSERT_EQ(names.count, 2u);
  EXPECT_EQ(text(names.strings[1]), "bc");
  const tenon_attribute axes = attribute_of(g, 2, "axes");
  EXPECT_THAT(std::vector<int64_t>(axes.ints, axes.ints + axes.count), ElementsAre(1, -1));
  EXPECT_EQ(attribute_of(g, 2, "alpha").f, 0.5);
  const tenon_attribute value = attribute_of(g, 2, "value");
  ASSERT_EQ(value.count, 1u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(value.tensors->data) % 64, 0u);

  const tenon_attribute body = attribute_of(g, 2, "body");
  ASSERT_EQ(body.count, 1u);
  const tenon_graph_info nested = info_of(body.graphs[0]);
  EXPECT_EQ(text(nested.name), "body");
  EXPECT_EQ(nested.flags, static_cast<uint32_t>(TENON_GRAPH_BODY));
  EXPECT_EQ(nested.input_count, 2u);  // i, and the captured x
  EXPECT_EQ(text(value_of_view(body.graphs[0], nested.inputs[1]).name), "x_inside");

  auto out = sized<tenon_attribute>();
  EXPECT_EQ(graph_find_attribute(g, 2, {"nope", 4}, &out), TENON_NOT_FOUND);
  EXPECT_EQ(graph_attribute(g, 2, 5, &out), TENON_INVALID_ARGUMENT);
}

TEST_F(GraphViewTest, BadIndicesAndOldCallers) {
  const GraphView view = *GraphView::whole(source, {});
  auto node = sized<tenon_node_info>();
  EXPECT_EQ(graph_node(view.handle(), 99, &node), TENON_INVALID_ARGUMENT);
  auto value = sized<tenon_value_info>();
  EXPECT_EQ(graph_value(view.handle(), TENON_NO_INDEX, &value), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(graph_info(nullptr, nullptr), TENON_INVALID_ARGUMENT);

  // A caller that knows less gets no more than it has room for.
  tenon_node_info small;
  std::memset(static_cast<void*>(&small), 0xAB, sizeof(small));
  small.struct_size = offsetof(tenon_node_info, op_type);
  ASSERT_EQ(graph_node(view.handle(), 0, &small), TENON_OK);
  EXPECT_EQ(small.struct_size, offsetof(tenon_node_info, op_type));
  EXPECT_EQ(text(small.name), "add");
  EXPECT_EQ(small.output_count, 0xABABABABu);
}

}  // namespace
}  // namespace tenon::runtime
