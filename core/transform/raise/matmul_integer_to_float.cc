// Mul(Cast(MatMulInteger), Mul(a_scale, b_scale)), with an Add of a bias or without, becomes MatMulIntegerToFloat of
// com.microsoft. Dynamic quantisation writes this: DynamicQuantizeLinear gives a and a_scale.
#include "core/transform/contrib/lower.h"
#include "core/transform/edit.h"
#include "core/transform/passes.h"
#include "core/transform/raise/raise.h"

namespace tenon::transform {

namespace {

using ir::kNone;
using ir::NodeId;
using ir::ValueId;

/// A scalar, or a list that has `count` elements or one.
bool is_list(const ir::Graph& graph, ValueId value, int64_t count) {
  const ir::Type& type = graph.value(value).type;
  if (!type.is_tensor() || !type.shape.has_rank || type.shape.rank() > 1) return false;
  if (type.shape.rank() == 0) return true;
  const int64_t dim = type.shape.dims[0].value;
  return dim == 1 || (dim >= 0 && dim == count);
}
bool is_one(const ir::Graph& graph, ValueId value) { return is_list(graph, value, 1); }

/// The only node that reads `value`, when it is `op_type`; otherwise kNone.
NodeId next(const ir::Graph& graph, ValueId value, std::string_view op_type) {
  if (!used_once(graph, value)) return kNone;
  const NodeId id = graph.value(value).uses[0].node;
  return graph.node(id).is(op_type) ? id : kNone;
}

/// The second operand of a node whose first one is `value`, in either order; kNone when it has another form.
ValueId beside(const ir::Node& node, ValueId value) {
  if (node.inputs.size() != 2 || node.find("axis") != nullptr) return kNone;
  return node.inputs[node.inputs[0] == value ? 1 : 0];
}

/// The number of columns of the right factor; -1 when it is not known or the factor has no columns.
int64_t columns_of(const ir::Graph& graph, ValueId right) {
  const ir::Type& type = graph.value(right).type;
  return type.is_tensor() && type.shape.has_rank && type.shape.rank() >= 2 ? type.shape.dims.back().value
                                                                           : -1;
}

/// The product of two scales.
struct Scales {
  NodeId product = kNone;
  ValueId a = kNone;  // that of DynamicQuantizeLinear
  ValueId b = kNone;  // a constant: one number, or one for each column
};

std::optional<Scales> find_scales(const ir::Graph& graph, ValueId value, int64_t columns) {
  const NodeId id = value == kNone ? kNone : graph.value(value).producer;
  if (id == kNone || !graph.node(id).is("Mul")) return std::nullopt;
  const ir::Node& node = graph.node(id);
  if (node.inputs.size() != 2 || node.find("axis") != nullptr) return std::nullopt;
  for (const size_t i : {0, 1}) {
    const Scales out{id, node.inputs[i], node.inputs[1 - i]};
    const NodeId quantizer = graph.value(out.a).producer;
    if (quantizer == kNone || !graph.node(quantizer).is("DynamicQuantizeLinear")) continue;
    // Of its outputs only the scale is a float, and what meets it in a Mul or an Add is of its type, float32.
    if (graph.value(out.b).is_constant() && is_list(graph, out.b, columns)) return out;
  }
  return std::nullopt;
}

/// Whether the constant has one number for each column, and no more dimensions.
bool is_bias(const ir::Graph& graph, ValueId value, int64_t columns) {
  const ir::TensorPtr& constant = value == kNone ? nullptr : graph.value(value).constant;
  return constant != nullptr && constant->dims() == std::vector<int64_t>{columns};
}

}  // namespace

Result<bool> raise_matmul_integer_to_float(Surroundings& around, ir::Graph& graph, NodeId id) {
  const ir::Node product = graph.node(id);
  if (!product.is("MatMulInteger")) return false;
  const int64_t columns = columns_of(graph, product.inputs[1]);
  const NodeId cast = columns < 0 ? kNone : next(graph, product.outputs[0], "Cast");
  if (cast == kNone) return false;
  const ValueId sums = graph.node(cast).outputs[0];
  const NodeId scaled = next(graph, sums, "Mul");
  if (scaled == kNone) return false;
  const auto scales = find_scales(graph, beside(graph.node(scaled), sums), columns);
  if (!scales) return false;
  const auto zero = [&](size_t i) { return has_input(product, i) ? product.inputs[i] : kNone; };
  const ValueId a_zero = zero(2), b_zero = zero(3);
  if ((a_zero != kNone && !is_one(graph, a_zero)) || (b_zero != kNone && !is_list(graph, b_zero, columns)))
    return false;

  Raised raised{"matmul_integer_to_float",
                {id, cast, scaled},
                graph.node(scaled).outputs[0],
                "MatMulIntegerToFloat",
                {},
                {}};
  raised.domain = kMicrosoft;
  raised.shared = {scales->product};
  raised.inputs = {product.inputs[0], product.inputs[1], scales->a, scales->b, a_zero, b_zero};
  const NodeId sum = next(graph, raised.output, "Add");
  const ValueId bias = sum == kNone ? kNone : beside(graph.node(sum), raised.output);
  if (is_bias(graph, bias, columns)) {
    raised.nodes.push_back(sum);
    raised.output = graph.node(sum).outputs[0];
    raised.inputs.push_back(bias);
  }
  while (raised.inputs.back() == kNone) raised.inputs.pop_back();
  return raise(around, graph, raised);
}

}  // namespace tenon::transform
