// Small models for tests, made node by node and given as ONNX bytes.
#pragma once

#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"
#include "core/onnx/onnx.h"

namespace tenon::test {

/// A graph under construction. Nested graphs are made with makers of their own; what they take from outside
/// they name with `capture`.
class GraphMaker {
 public:
  using Id = ir::ValueId;

  static ir::Type type(ir::ElementType element, const std::vector<ir::Dim>& dims) {
    return ir::Type::tensor(element, ir::Shape(dims));
  }
  static ir::Type f32(const std::vector<ir::Dim>& dims) { return type(ir::ElementType::kFloat32, dims); }
  static ir::Type i64(const std::vector<ir::Dim>& dims) { return type(ir::ElementType::kInt64, dims); }
  static ir::Type boolean(const std::vector<ir::Dim>& dims) { return type(ir::ElementType::kBool, dims); }

  Id input(const std::string& name, ir::Type declared) {
    const Id id = graph.add_value(name, std::move(declared));
    graph.add_input(id);
    return id;
  }
  Id input(const std::string& name, ir::Type declared, ir::TensorPtr fallback) {
    const Id id = input(name, std::move(declared));
    graph.add_default(id, std::move(fallback));
    return id;
  }
  Id constant(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
    return graph.add_constant(name, floats(dims, values));
  }
  Id ints(const std::string& name, const std::vector<int64_t>& values) {
    return graph.add_constant(name, ir::Tensor::of_ints(values));
  }
  Id scalar(const std::string& name, int64_t value) {
    return graph.add_constant(name, ir::Tensor::scalar_int(value));
  }
  Id yes(const std::string& name) {
    return graph.add_constant(name, *ir::Tensor::make(ir::ElementType::kBool, {}, {std::byte{1}}));
  }
  Id capture(Id outer, const std::string& name) { return graph.add_capture(outer, name, {}); }

  /// The outputs are named like the node, with ":1" ... behind it for further ones. `op`: "Add", "com.acme:Fft".
  std::vector<Id> nodes(std::string_view op, const std::vector<Id>& inputs, size_t outputs,
                        std::vector<ir::Attribute> attributes = {}, const std::string& name = {}) {
    ir::Node node;
    const size_t colon = op.find(':');
    if (colon != std::string_view::npos) node.domain = op.substr(0, colon);
    op = op.substr(colon + 1);
    node.op_type = op;
    node.name = name.empty() ? std::string(op) + "_" + std::to_string(graph.node_count()) : name;
    node.inputs = inputs;
    for (size_t i = 0; i < outputs; ++i) {
      node.outputs.push_back(graph.add_value(node.name + (i == 0 ? "" : ":" + std::to_string(i))));
    }
    node.attributes = std::move(attributes);
    const std::vector<Id> out = node.outputs;
    graph.add_node(std::move(node));
    return out;
  }
  Id node(std::string_view op, const std::vector<Id>& inputs, std::vector<ir::Attribute> attributes = {},
          const std::string& name = {}) {
    return nodes(op, inputs, 1, std::move(attributes), name)[0];
  }
  void output(Id value, const std::string& name, ir::Type declared = {}) {
    graph.rename_value(value, name);
    if (declared.kind != ir::ValueKind::kUnknown) graph.set_type(value, std::move(declared));
    graph.add_output(value);
  }

  static ir::TensorPtr floats(const std::vector<int64_t>& dims, const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return *ir::Tensor::make(ir::ElementType::kFloat32, dims, std::move(bytes));
  }

  /// The model as a file would hold it.
  std::string bytes(int64_t opset = 21) const {
    ir::Model whole;
    static_cast<ir::ModelInfo&>(whole) = model;
    whole.graph = graph;
    if (whole.graph.name.empty()) whole.graph.name = "test";
    whole.opset_imports[""] = opset;
    whole.ir_version = 10;
    whole.producer_name = "test";
    Result<std::string> saved = onnx::save_bytes(whole);
    return saved.ok() ? *saved : "unsaved: " + saved.error().to_string();
  }

  ir::Graph graph;
  ir::ModelInfo model;  // what bytes() does not set itself
};

}  // namespace tenon::test
