// QuantizeLinear(Gemm(DequantizeLinear, DequantizeLinear, DequantizeLinear)) becomes QGemm of com.microsoft.
#include <cmath>

#include "core/transform/contrib/lower.h"
#include "core/transform/passes.h"
#include "core/transform/raise/quantized.h"

namespace tenon::transform {

namespace {

using ir::kNone;
using ir::ValueId;

double number(const ir::Node& node, std::string_view attribute) {
  const ir::Attribute* found = node.find(attribute);
  return found == nullptr ? 1.0 : static_cast<double>(found->f);
}

}  // namespace

Result<bool> raise_quantized_gemm(Surroundings& around, ir::Graph& graph, ir::NodeId id) {
  const auto y = find_quantized(graph, id);
  if (!y) return false;
  Raised raised{"quantized_gemm", {id}, y->integers, "QGemm", {}, {}};
  raised.domain = kMicrosoft;
  const ValueId product = without_clamp(graph, graph.node(id).inputs[0], *y, &raised.nodes);
  const ir::NodeId gemm_id = graph.value(product).producer;
  if (gemm_id == kNone || !graph.node(gemm_id).is("Gemm")) return false;
  const ir::Node gemm = graph.node(gemm_id);
  const auto a = find_dequantized(graph, gemm.inputs[0]), b = find_dequantized(graph, gemm.inputs[1]);
  if (!a || !b || !a->has_bytes() || !b->has_bytes() || !a->is_single()) return false;
  const ir::TensorPtr weights = graph.value(b->integers).constant;
  if (weights == nullptr || weights->dims().size() != 2 || weights->element_count() == 0) return false;
  const size_t column_axis = gemm.int_or("transB", 0) != 0 ? 0 : 1;
  const int64_t columns = weights->dims()[column_axis];
  if (!has_scales(*b, 2, column_axis, columns)) return false;

  ValueId bias = kNone;
  const double alpha = number(gemm, "alpha");
  if (!std::isfinite(alpha)) return false;
  raised.nodes.push_back(gemm_id);
  raised.shared = {a->node, b->node};
  if (has_input(gemm, 2)) {
    const auto c = find_dequantized(graph, gemm.inputs[2]);
    if (number(gemm, "beta") != 1 || !c || !is_bias(graph, *c, alpha * a->scales[0], *b, columns))
      return false;
    bias = c->integers;
    raised.shared.push_back(c->node);
  }
  if (!sums_fit(graph, *a, *b, weights->element_count() / columns, bias)) return false;
  raised.inputs = {a->integers, a->scale, zero_point(graph, *a), b->integers, b->scale, zero_point(graph, *b),
                   bias,        y->scale, zero_point(graph, *y)};
  for (const ir::Attribute& attribute : gemm.attributes) {
    if (attribute.name == "alpha" || attribute.name == "transA" || attribute.name == "transB")
      raised.attributes.push_back(attribute);
  }
  return raise(around, graph, raised);
}

}  // namespace tenon::transform
