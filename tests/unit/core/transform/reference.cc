#include "tests/unit/core/transform/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "core/transform/edit.h"
#include "tests/unit/core/transform/reference_operators.h"

namespace tenon::testing {

namespace {

using ir::ElementType;

class Evaluation {
 public:
  explicit Evaluation(const ir::Graph& graph) : graph_(graph) {}
  std::map<ir::ValueId, Array> values;

  Status run() {
    for (ir::ValueId id = 0; id < graph_.value_limit(); ++id) {
      if (graph_.has_value(id) && graph_.value(id).constant)
        values[id] = array_of(*graph_.value(id).constant);
    }
    ASSIGN_OR_RETURN(const std::vector<ir::NodeId> order, graph_.topological_order());
    for (const ir::NodeId id : order)
      RETURN_IF_ERROR(run_node(graph_.node(id)).with_context(graph_.node(id).label()));
    return ok_status();
  }

 private:
  Status run_node(const ir::Node& node) {
    Call call{graph_, node, {}};
    for (const ir::ValueId input : node.inputs)
      call.in.push_back(input == ir::kNone ? nullptr : &values[input]);
    if (node.is("If")) return run_if(node, *call.in[0]);
    std::vector<Array> results;
    if (!call_operator(call, &results)) return unsupported("the tests know no operator ", node.op_type);
    for (size_t i = 0; i < results.size(); ++i) values[node.outputs[i]] = std::move(results[i]);
    return ok_status();
  }

  Status run_if(const ir::Node& node, const Array& condition) {
    const ir::Graph& body = *node.find(condition.values[0] != 0 ? "then_branch" : "else_branch")->graphs[0];
    Evaluation inner(body);
    for (const ir::Capture& capture : body.captures()) inner.values[capture.inner] = values[capture.outer];
    RETURN_IF_ERROR(inner.run());
    for (size_t i = 0; i < node.outputs.size(); ++i)
      values[node.outputs[i]] = inner.values[body.outputs()[i]];
    return ok_status();
  }

  const ir::Graph& graph_;
};

template <class T>
void read(const ir::Tensor& tensor, std::vector<double>& out) {
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    T value;
    std::memcpy(&value, tensor.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    out.push_back(static_cast<double>(value));
  }
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

}  // namespace

Array array_of(const ir::Tensor& tensor) {
  Array out{tensor.dims(), {}};
  switch (tensor.type()) {
    case ElementType::kFloat32:
      read<float>(tensor, out.values);
      break;
    case ElementType::kFloat64:
      read<double>(tensor, out.values);
      break;
    case ElementType::kFloat16:
      out.values = transform::to_doubles(tensor).value_or(std::vector<double>());
      break;
    case ElementType::kInt64:
      read<int64_t>(tensor, out.values);
      break;
    case ElementType::kInt32:
      read<int32_t>(tensor, out.values);
      break;
    case ElementType::kInt8:
      read<int8_t>(tensor, out.values);
      break;
    default:
      read<uint8_t>(tensor, out.values);
      break;
  }
  return out;
}

ir::TensorPtr tensor_of(const Array& array, ElementType type) {
  std::vector<std::byte> bytes;
  switch (type) {
    case ElementType::kFloat32:
      bytes = bytes_of<float>(array.values);
      break;
    case ElementType::kFloat64:
      bytes = bytes_of<double>(array.values);
      break;
    case ElementType::kFloat16:
      return transform::from_doubles(type, array.dims, array.values);
    case ElementType::kInt64:
      bytes = bytes_of<int64_t>(array.values);
      break;
    case ElementType::kInt32:
      bytes = bytes_of<int32_t>(array.values);
      break;
    case ElementType::kInt8:
      bytes = bytes_of<int8_t>(array.values);
      break;
    default:
      bytes = bytes_of<uint8_t>(array.values);
      break;
  }
  Result<ir::TensorPtr> made = ir::Tensor::make(type, array.dims, std::move(bytes));
  return made.ok() ? *made : nullptr;
}

Result<std::vector<Array>> evaluate(const ir::Graph& graph, const std::vector<Array>& inputs) {
  Evaluation evaluation(graph);
  for (size_t i = 0; i < inputs.size(); ++i) evaluation.values[graph.inputs()[i]] = inputs[i];
  RETURN_IF_ERROR(evaluation.run());
  std::vector<Array> out;
  for (const ir::ValueId id : graph.outputs()) out.push_back(evaluation.values[id]);
  return out;
}

Result<std::vector<ir::TensorPtr>> evaluate_constants(const ir::Graph& graph) {
  ASSIGN_OR_RETURN(const std::vector<Array> arrays, evaluate(graph, {}));
  std::vector<ir::TensorPtr> out;
  for (size_t i = 0; i < arrays.size(); ++i) {
    out.push_back(tensor_of(arrays[i], graph.value(graph.outputs()[i]).type.element));
  }
  return out;
}

Array some(std::vector<int64_t> dims, uint32_t seed) {
  Array out{std::move(dims), {}};
  uint32_t state = seed * 2654435761u + 1;
  for (int64_t i = 0; i < out.count(); ++i) {
    state = state * 1664525u + 1013904223u;
    out.values.push_back(static_cast<double>(state >> 8) / (1 << 23) - 1);
  }
  return out;
}

}  // namespace tenon::testing
