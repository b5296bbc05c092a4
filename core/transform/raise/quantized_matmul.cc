// QuantizeLinear(MatMul(DequantizeLinear, DequantizeLinear)) becomes QLinearMatMul.
#include "core/transform/passes.h"
#include "core/transform/raise/quantized.h"

namespace tenon::transform {

namespace {

using ir::kNone;
using ir::ValueId;

/// The number of products in a sum; -1 when not known.
int64_t terms_of(const ir::Graph& graph, ValueId right) {
  const ir::Shape& shape = graph.value(right).type.shape;
  if (!shape.has_rank || shape.rank() == 0) return -1;
  return shape.dims[shape.rank() == 1 ? 0 : shape.rank() - 2].value;
}

/// Whether the right factor has one scale, or a constant matrix one for each column.
bool has_scales_of_columns(const ir::Graph& graph, const Linear& b) {
  if (b.is_single()) return true;
  const ir::TensorPtr matrix = graph.value(b.integers).constant;
  return matrix != nullptr && matrix->dims().size() == 2 && has_scales(b, 2, 1, matrix->dims()[1]);
}

}  // namespace

Result<bool> raise_quantized_matmul(Surroundings& around, ir::Graph& graph, ir::NodeId id) {
  const auto y = find_quantized(graph, id);
  if (!y) return false;
  Raised raised{"quantized_matmul", {id}, y->integers, "QLinearMatMul", {}, {}};
  const ValueId product = without_clamp(graph, graph.node(id).inputs[0], *y, &raised.nodes);
  const ir::NodeId product_id = graph.value(product).producer;
  if (product_id == kNone || !graph.node(product_id).is("MatMul")) return false;
  const ir::Node& matmul = graph.node(product_id);
  const auto a = find_dequantized(graph, matmul.inputs[0]), b = find_dequantized(graph, matmul.inputs[1]);
  if (!a || !b || !a->has_bytes() || !b->has_bytes() || !a->is_single()) return false;
  if (!has_scales_of_columns(graph, *b)) return false;
  const int64_t terms = terms_of(graph, b->integers);
  if (terms >= 0 && !sums_fit(graph, *a, *b, terms, kNone)) return false;
  raised.nodes.push_back(product_id);
  raised.shared = {a->node, b->node};
  raised.inputs = {a->integers,           a->scale, zero_point(graph, *a), b->integers, b->scale,
                   zero_point(graph, *b), y->scale, zero_point(graph, *y)};
  return raise(around, graph, raised);
}

}  // namespace tenon::transform
