// QuantizeLinear(Conv(DequantizeLinear, DequantizeLinear, DequantizeLinear)) becomes QLinearConv. A Relu or Clip before
// QuantizeLinear belongs to it where the range of its bytes has the same effect.
#include "core/transform/passes.h"
#include "core/transform/raise/quantized.h"

namespace tenon::transform {

namespace {

using ir::kNone;
using ir::ValueId;

}  // namespace

Result<bool> raise_quantized_conv(Surroundings& around, ir::Graph& graph, ir::NodeId id) {
  const auto y = find_quantized(graph, id);
  if (!y) return false;
  Raised raised{"quantized_conv", {id}, y->integers, "QLinearConv", {}, {}};
  const ValueId sum = without_clamp(graph, graph.node(id).inputs[0], *y, &raised.nodes);
  const ir::NodeId conv_id = graph.value(sum).producer;
  if (conv_id == kNone || !graph.node(conv_id).is("Conv")) return false;
  const ir::Node conv = graph.node(conv_id);
  const auto x = find_dequantized(graph, conv.inputs[0]), w = find_dequantized(graph, conv.inputs[1]);
  if (!x || !w || !x->has_bytes() || !w->has_bytes() || !x->is_single()) return false;
  const ir::TensorPtr weights = graph.value(w->integers).constant;
  if (weights == nullptr || weights->dims().size() < 3 || weights->element_count() == 0) return false;
  const int64_t channels = weights->dims()[0];
  if (!has_scales(*w, weights->dims().size(), 0, channels)) return false;

  ValueId bias = kNone;
  raised.nodes.push_back(conv_id);
  raised.shared = {x->node, w->node};
  if (has_input(conv, 2)) {
    const auto b = find_dequantized(graph, conv.inputs[2]);
    if (!b || !is_bias(graph, *b, x->scales[0], *w, channels)) return false;
    bias = b->integers;
    raised.shared.push_back(b->node);
  }
  if (!sums_fit(graph, *x, *w, weights->element_count() / channels, bias)) return false;
  raised.inputs = {x->integers,           x->scale, zero_point(graph, *x), w->integers, w->scale,
                   zero_point(graph, *w), y->scale, zero_point(graph, *y)};
  if (bias != kNone) raised.inputs.push_back(bias);
  raised.attributes = conv.attributes;
  return raise(around, graph, raised);
}

}  // namespace tenon::transform
