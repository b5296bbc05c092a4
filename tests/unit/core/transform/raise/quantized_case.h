// Small quantised graphs for the rules that raise them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {

inline constexpr ir::ElementType kU8 = ir::ElementType::kUInt8, kI8 = ir::ElementType::kInt8,
                                 kI32 = ir::ElementType::kInt32;

/// Integers of a type from `low` to `high`.
inline Array some_integers(std::vector<int64_t> dims, int low, int high, uint32_t seed = 1) {
  Array out = some(std::move(dims), seed);
  for (double& value : out.values) value = low + std::floor((value + 1) / 2 * (high - low + 1));
  return out;
}
inline Array some_bytes(std::vector<int64_t> dims, ir::ElementType type, uint32_t seed = 1) {
  return type == kI8 ? some_integers(std::move(dims), -128, 127, seed)
                     : some_integers(std::move(dims), 0, 255, seed);
}

/// Scales and zero points of a tensor; one, or one for each slice of `axis`.
struct Scaling {
  ir::ElementType type = kU8;
  std::vector<float> scales = {0.02f};
  std::vector<int> zeros = {128};
  int64_t axis = 1;
  bool has_zero = true;
};

inline ir::TensorPtr integers(ir::ElementType type, std::vector<int64_t> dims,
                              const std::vector<int>& values) {
  return tensor_of({std::move(dims), {values.begin(), values.end()}}, type);
}

inline std::vector<ir::ValueId> with_parameters(GraphBuilder& b, ir::ValueId x, const Scaling& by) {
  const auto count = static_cast<int64_t>(by.scales.size());
  const std::vector<int64_t> dims = count == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{count};
  std::vector<ir::ValueId> in = {x, b.constant(floats(dims, by.scales))};
  if (by.has_zero) in.push_back(b.constant(integers(by.type, dims, by.zeros)));
  return in;
}
inline ir::ValueId dequantize(GraphBuilder& b, ir::ValueId x, const Scaling& by) {
  std::vector<ir::Attribute> attributes;  // opset 12 knows no axis
  if (by.scales.size() > 1) attributes.push_back(ir::Attribute::of_int("axis", by.axis));
  return b.op("DequantizeLinear", with_parameters(b, x, by), attributes);
}
inline ir::ValueId quantize(GraphBuilder& b, ir::ValueId x, const Scaling& by) {
  return b.op("QuantizeLinear", with_parameters(b, x, by));
}

/// The nodes by name: their operators, inputs and outputs, so that two graphs can be compared. Equal constants are alike,
/// whatever their names.
inline std::map<std::string, std::string> listing(const ir::Graph& graph) {
  const auto text_of = [&](ir::ValueId id) {
    if (id == ir::kNone) return std::string("-");
    const ir::TensorPtr constant = graph.value(id).constant;
    if (constant == nullptr) return graph.value(id).name;
    return graph.value(id).type.to_string() + ::testing::PrintToString(array_of(*constant).values);
  };
  std::map<std::string, std::string> out;
  for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
    if (!graph.has_node(id)) continue;
    const ir::Node& node = graph.node(id);
    std::string& text = out[node.name];
    text = node.op_type;
    for (const auto* values : {&node.inputs, &node.outputs}) {
      text += values == &node.inputs ? " of" : " to";
      for (const ir::ValueId value : *values) text += " " + text_of(value);
    }
  }
  return out;
}

/// Runs the transforms (all of them for ""), puts every raised node back, and expects the graph that there is without
/// raising.
inline void expect_same_graph_put_back(GraphBuilder& b, size_t raised) {
  ir::Model with, without;
  with.graph = without.graph = b.done();
  with.opset_imports = without.opset_imports = b.imports();
  transform::Options options;
  options.evaluator = evaluate_constants;
  ASSERT_TRUE(transform::run_pipeline(with.graph, with, options).ok());
  EXPECT_EQ(transform::put_back_for_file(with.graph, 0), raised) << ir::to_text(with.graph);
  options.raise = false;
  for (ir::Model* model : {&with, &without})
    ASSERT_TRUE(transform::run_pipeline(model->graph, *model, options).ok());
  ASSERT_TRUE(ir::verify(with.graph).ok());
  EXPECT_EQ(listing(with.graph), listing(without.graph));
}

}  // namespace tenon::testing
