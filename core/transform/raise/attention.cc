// Softmax(scale * Q K^T + mask) V becomes Attention.
//
// Where the graph splits the heads of rank 3 before the products and joins them after, Attention does that too.
#include "core/transform/raise/attention.h"

#include <cmath>

#include "core/transform/passes.h"

namespace tenon::transform {

namespace {

using ir::Attribute;
using ir::ElementType;
using ir::kNone;
using ir::NodeId;
using ir::ValueId;

void append(std::vector<NodeId>& nodes, const std::vector<NodeId>& more) {
  nodes.insert(nodes.end(), more.begin(), more.end());
}

/// Whether the node is a Softmax over the last axis of a tensor of rank 4.
bool is_row_softmax(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Softmax") || node.outputs.empty() || node.outputs[0] == kNone ||
      !four_dims(graph, node.inputs[0]))
    return false;
  const auto type = float_type(graph, node.inputs[0]);
  if (!type || *type == ElementType::kFloat64) return false;
  // Before opset 13, a softmax ran over all axes from this one on.
  const int64_t axis = node.int_or("axis", node.since_version < 13 ? 1 : -1);
  return axis == -1 || axis == 3;
}

/// What multiplies the values.
struct Weights {
  ValueId value = kNone;
  std::vector<NodeId> nodes;
  bool is_guarded = false;  // zeros take the place of NaN
};

/// Where(IsNaN(w), 0, w) of the softmax w, or w itself.
Weights find_weights(const ir::Graph& graph, NodeId softmax) {
  const ValueId w = graph.node(softmax).outputs[0];
  Weights bare{w, {softmax}, false};
  const ir::Value& value = graph.value(w);
  if (value.uses.size() != 2 || value.output_count != 0) return bare;
  for (const ir::Use& use : value.uses) {
    if (use.input == kNone || !graph.node(use.node).is("IsNaN")) continue;
    const ValueId test = graph.node(use.node).outputs[0];
    if (test == kNone || !used_once(graph, test)) continue;
    const NodeId id = graph.value(test).uses[0].node;
    const ir::Node& where = graph.node(id);
    if (!where.is("Where") || where.inputs[0] != test || where.inputs[2] != w || where.outputs[0] == kNone)
      continue;
    if (number_of(graph, where.inputs[1], w) == 0.0) return {where.outputs[0], {softmax, use.node, id}, true};
  }
  return bare;
}

/// An attention, followed from its softmax.
struct Found {
  std::vector<NodeId> nodes;  // without those of `queries`, `keys` and `values`
  HeadInput queries, keys, values;
  AttentionMask mask;
  ValueId result = kNone;
  double scale = 1;
};

/// Whether Attention takes queries, keys and values of these dimensions. It gives each head of keys to as many queries;
/// products share one head of keys among all.
bool dims_fit(const Found& found) {
  const FourDims &q = found.queries.dims, &k = found.keys.dims, &v = found.values.dims;
  return is_same(q[0], k[0]) && is_same(k[0], v[0]) && (is_same(q[1], k[1]) || k[1].value == 1) &&
         is_same(k[1], v[1]) && is_same(k[2], v[2]);
}

std::optional<Found> find_attention(const ir::Graph& graph, const Weights& weights,
                                    const AttentionMask& mask) {
  const NodeId product_id = graph.value(weights.value).uses[0].node;
  const ir::Node& product = graph.node(product_id);
  Found found;
  found.mask = mask;
  found.nodes = weights.nodes;
  append(found.nodes, mask.nodes);
  found.nodes.push_back(product_id);
  found.result = product.outputs[0];

  const ValueId scores = without_numbers(graph, mask.scores, &found.scale, &found.nodes);
  const NodeId scores_id = graph.value(scores).producer;
  if (scores_id == kNone || !graph.node(scores_id).is("MatMul") || !used_once(graph, scores))
    return std::nullopt;
  found.nodes.push_back(scores_id);
  const ir::Node& scoring = graph.node(scores_id);
  const auto keys = find_keys(graph, scoring.inputs[1], &found.scale);
  if (!keys) return std::nullopt;
  const auto queries =
      find_heads(graph, without_numbers(graph, scoring.inputs[0], &found.scale, &found.nodes));
  const auto values = find_heads(graph, product.inputs[1]);
  if (!queries || !values) return std::nullopt;
  found.queries = *queries;
  found.keys = *keys;
  found.values = *values;
  const auto scale = static_cast<float>(found.scale);
  if (!dims_fit(found) || !(scale > 0) || !std::isfinite(scale)) return std::nullopt;
  const FourDims& q = found.queries.dims;
  if (mask.value != kNone && !mask_fits(graph, mask, {q[0], q[1], q[2], found.keys.dims[2]}))
    return std::nullopt;
  if (!mask_means_the_same(graph, mask, weights.is_guarded)) return std::nullopt;
  return found;
}

/// The same where keys and values were repeated for groups of queries: Attention repeats them.
std::optional<Found> with_groups(const ir::Graph& graph, const Found& found) {
  const auto keys = find_unrepeated(graph, found.keys), values = find_unrepeated(graph, found.values);
  if (!keys || !values || !is_same(keys->dims[1], values->dims[1])) return std::nullopt;
  if (!is_same(found.queries.dims[1], found.keys.dims[1])) return std::nullopt;
  Found grouped = found;
  grouped.keys = *keys;
  grouped.values = *values;
  return grouped;
}

/// The mask as Attention wants it; kNone when it would need a node of its own.
ValueId mask_input(ir::Graph& graph, const AttentionMask& mask, Raised* raised) {
  if (!mask.is_inverted) return mask.value;
  const ir::Value& value = graph.value(mask.value);
  if (value.is_constant()) {
    std::vector<std::byte> bytes(value.constant->data(),
                                 value.constant->data() + value.constant->byte_size());
    for (std::byte& byte : bytes) byte = byte == std::byte{0} ? std::byte{1} : std::byte{0};
    Result<ir::TensorPtr> made =
        ir::Tensor::make(ElementType::kBool, value.constant->dims(), std::move(bytes));
    return made.ok() ? graph.add_constant(value.name, *made) : kNone;
  }
  if (value.producer == kNone || !graph.node(value.producer).is("Not")) return kNone;
  raised->shared.push_back(value.producer);  // other layers have the same mask
  return graph.node(value.producer).inputs[0];
}

bool raise_found(Surroundings& around, ir::Graph& graph, const Found& found, bool with_heads) {
  Raised raised{"attention", found.nodes, found.result, "Attention", {}, {}};
  const HeadInput *q = &found.queries, *k = &found.keys, *v = &found.values;
  for (const HeadInput* input : {q, k, v}) append(raised.nodes, input->nodes);
  if (with_heads) {
    const Joined joined = find_joined(graph, found.result);
    if (joined.value == kNone) return false;
    raised.output = joined.value;
    append(raised.nodes, joined.nodes);
    if (!joined.view.empty()) raised.output_view = joined.view;
    for (size_t i = 0; i < 3; ++i) {
      const HeadInput& input = *(i == 0 ? q : i == 1 ? k : v);
      append(raised.nodes, input.split);
      if (!input.view.empty()) raised.input_views[i] = input.view;
    }
    raised.attributes = {Attribute::of_int("q_num_heads", q->dims[1].value),
                         Attribute::of_int("kv_num_heads", k->dims[1].value)};
  }
  for (const HeadInput* input : {q, k, v}) {
    const ValueId given = with_heads ? input->three : input->four;
    if (given == kNone) return false;
    raised.inputs.push_back(given);
  }
  if (found.mask.value != kNone) {
    const ValueId mask = mask_input(graph, found.mask, &raised);
    if (mask == kNone) return false;
    raised.inputs.push_back(mask);
  }
  raised.attributes.push_back(Attribute::of_float("scale", static_cast<float>(found.scale)));
  return raise(around, graph, raised);
}

}  // namespace

Result<bool> raise_attention(Surroundings& around, ir::Graph& graph, NodeId id) {
  const ir::Node& softmax = graph.node(id);
  if (!is_row_softmax(graph, softmax)) return false;
  const Weights weights = find_weights(graph, id);
  if (!used_once(graph, weights.value)) return false;
  const ir::Use& use = graph.value(weights.value).uses[0];
  const ir::Node& product = graph.node(use.node);
  if (!product.is("MatMul") || use.input != 0 || product.outputs[0] == kNone) return false;
  for (const AttentionMask& mask : find_masks(graph, softmax.inputs[0])) {
    const auto found = find_attention(graph, weights, mask);
    if (!found) continue;
    const auto grouped = with_groups(graph, *found);
    if (grouped &&
        (raise_found(around, graph, *grouped, true) || raise_found(around, graph, *grouped, false)))
      return true;
    return raise_found(around, graph, *found, true) || raise_found(around, graph, *found, false);
  }
  return false;
}

}  // namespace tenon::transform
