// Small graphs for tests, one call per node.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/graph.h"
#include "core/ops/ops.h"

namespace tenon::testing {

inline ir::Type f32(std::vector<int64_t> dims) {
  return ir::Type::tensor(ir::ElementType::kFloat32, ir::Shape::of(dims));
}
inline ir::Type i64(std::vector<int64_t> dims) {
  return ir::Type::tensor(ir::ElementType::kInt64, ir::Shape::of(dims));
}
inline ir::Type type_of(ir::ElementType element, std::vector<ir::Dim> dims) {
  return ir::Type::tensor(element, ir::Shape(std::move(dims)));
}

template <class T>
ir::TensorPtr tensor(ir::ElementType element, std::vector<int64_t> dims, const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  Result<ir::TensorPtr> made = ir::Tensor::make(element, std::move(dims), std::move(bytes));
  EXPECT_TRUE(made.ok()) << made.error().to_string();
  return made.ok() ? *made : nullptr;
}
inline ir::TensorPtr floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return tensor(ir::ElementType::kFloat32, std::move(dims), values);
}

class GraphBuilder {
 public:
  explicit GraphBuilder(int64_t opset = 21)
      : imports_{{"", opset}, {"ai.onnx.ml", 3}, {"ai.onnx.preview", 1}, {"com.microsoft", 1}} {}

  ir::ValueId input(const std::string& name, ir::Type type) {
    const ir::ValueId id = graph_.add_value(name, std::move(type));
    graph_.add_input(id);
    return id;
  }
  ir::ValueId constant(ir::TensorPtr value) { return graph_.add_constant("c", std::move(value)); }
  ir::ValueId ints(const std::vector<int64_t>& values) { return constant(ir::Tensor::of_ints(values)); }
  /// A node with one output, in ai.onnx; "domain:Name" for another domain.
  ir::ValueId op(const std::string& type, std::vector<ir::ValueId> inputs,
                 std::vector<ir::Attribute> attributes = {}) {
    return ops(type, std::move(inputs), 1, std::move(attributes))[0];
  }
  std::vector<ir::ValueId> ops(const std::string& type, std::vector<ir::ValueId> inputs, size_t outputs,
                               std::vector<ir::Attribute> attributes = {}) {
    ir::Node node;
    const size_t colon = type.find(':');
    node.domain = colon == std::string::npos ? "" : type.substr(0, colon);
    node.op_type = colon == std::string::npos ? type : type.substr(colon + 1);
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    for (size_t i = 0; i < outputs; ++i) node.outputs.push_back(graph_.add_value(node.op_type + "_out"));
    std::vector<ir::ValueId> out = node.outputs;
    graph_.add_node(std::move(node));
    return out;
  }
  void output(ir::ValueId value) { graph_.add_output(value); }

  Status resolve() { return tenon::ops::resolve(graph_, imports_, functions_); }
  Status infer(const std::map<ir::ValueId, ir::Shape>& shapes = {}) {
    RETURN_IF_ERROR(resolve());
    return tenon::ops::infer_graph(graph_, functions_, shapes);
  }
  /// Resolved and inferred; failures are the test's.
  ir::Graph& done() {
    const Status status = infer();
    EXPECT_TRUE(status.ok()) << status.to_string();
    return graph_;
  }
  ir::Graph& graph() { return graph_; }
  std::vector<ir::Function>& functions() { return functions_; }
  const std::map<std::string, int64_t>& imports() const { return imports_; }
  std::string type(ir::ValueId id) const { return graph_.value(id).type.to_string(); }

 private:
  ir::Graph graph_;
  std::vector<ir::Function> functions_;
  std::map<std::string, int64_t> imports_;
};

}  // namespace tenon::testing
