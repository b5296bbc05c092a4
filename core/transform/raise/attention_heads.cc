// Queries, keys and values of an attention, and its result, as exporters lay them out.
#include <cmath>

#include "core/transform/raise/attention.h"

namespace tenon::transform {

namespace {

using ir::kNone;
using ir::NodeId;
using ir::ValueId;

const std::vector<int64_t> kSwapHeads = {0, 2, 1, 3};

/// The Transpose with this permutation that makes `value`, for one reader; kNone when there is none.
NodeId transposed(const ir::Graph& graph, ValueId value, const std::vector<int64_t>& perm) {
  const NodeId id = graph.value(value).producer;
  const bool fits = id != kNone && used_once(graph, value) && graph.node(id).is("Transpose") &&
                    permutation(graph, graph.node(id)) == perm;
  return fits ? id : kNone;
}

/// The Reshape that makes `value`, for one reader; kNone when there is none.
NodeId reshaped(const ir::Graph& graph, ValueId value) {
  const NodeId id = graph.value(value).producer;
  return id != kNone && used_once(graph, value) && graph.node(id).is("Reshape") ? id : kNone;
}

ValueId source(const ir::Graph& graph, NodeId id) { return graph.node(id).inputs[0]; }

/// [batch, length, width] where a Reshape of it makes `value` [batch, length, heads, size]; otherwise kNone.
ValueId unsplit(const ir::Graph& graph, ValueId value, std::vector<NodeId>* nodes) {
  const NodeId reshape = reshaped(graph, value);
  if (reshape == kNone) return kNone;
  const ValueId three = source(graph, reshape);
  const ir::Type& type = graph.value(three).type;
  const auto dims = four_dims(graph, value);
  if (!dims || !type.is_tensor() || !type.shape.has_rank || type.shape.rank() != 3) return kNone;
  const ir::Dim &heads = (*dims)[2], &size = (*dims)[3], &width = type.shape.dims[2];
  if (!heads.known() || !size.known() || size.value == 0 || width.value != heads.value * size.value)
    return kNone;
  if (!is_same((*dims)[0], type.shape.dims[0]) && !is_same((*dims)[1], type.shape.dims[1])) return kNone;
  nodes->push_back(reshape);
  return three;
}

/// Fills in `three` where a Transpose makes `four`.
void find_three(const ir::Graph& graph, HeadInput* input) {
  const NodeId transpose = transposed(graph, input->four, kSwapHeads);
  if (transpose == kNone) return;
  std::vector<NodeId> split = {transpose};
  input->three = unsplit(graph, source(graph, transpose), &split);
  if (input->three != kNone) input->split = std::move(split);
}

/// Keys whose matrices were transposed in rank 3: Reshape(Transpose(Reshape(keys))).
ValueId keys_through_rank_3(const ir::Graph& graph, ValueId value, const FourDims& dims,
                            std::vector<NodeId>* nodes) {
  const NodeId after = reshaped(graph, value);
  if (after == kNone) return kNone;
  const NodeId transpose = transposed(graph, source(graph, after), {0, 2, 1});
  if (transpose == kNone) return kNone;
  const ValueId matrices = source(graph, transpose);
  const NodeId before = reshaped(graph, matrices);
  if (before == kNone) return kNone;
  const ValueId keys = source(graph, before);
  const auto given = four_dims(graph, keys);
  const ir::Shape& middle = graph.value(matrices).type.shape;
  if (!given || !middle.has_rank || middle.rank() != 3) return kNone;
  for (size_t i = 0; i < 4; ++i) {
    if (!is_same((*given)[i], dims[i])) return kNone;
  }
  if (!is_same(middle.dims[1], dims[2]) || !is_same(middle.dims[2], dims[3])) return kNone;
  nodes->insert(nodes->end(), {after, transpose, before});
  return keys;
}

}  // namespace

bool is_same(const ir::Dim& a, const ir::Dim& b) {
  return a.value == b.value && (a.known() || (!a.symbol.empty() && a.symbol == b.symbol));
}

std::optional<FourDims> four_dims(const ir::Graph& graph, ValueId value) {
  if (value == kNone) return std::nullopt;
  const ir::Type& type = graph.value(value).type;
  if (!type.is_tensor() || !type.shape.has_rank || type.shape.rank() != 4) return std::nullopt;
  FourDims dims;
  std::copy(type.shape.dims.begin(), type.shape.dims.end(), dims.begin());
  return dims;
}

ValueId without_numbers(const ir::Graph& graph, ValueId value, double* scale, std::vector<NodeId>* nodes) {
  for (bool found = true; found && used_once(graph, value);) {
    found = false;
    const NodeId id = graph.value(value).producer;
    const bool is_div = id != kNone && graph.node(id).is("Div");
    if (id == kNone || (!is_div && !graph.node(id).is("Mul"))) break;
    const ir::Node& node = graph.node(id);
    if (node.inputs.size() != 2 || node.find("axis") != nullptr) break;
    for (const size_t i : {1, 0}) {
      if (is_div && i == 0) break;
      const auto number = number_of(graph, node.inputs[i], node.inputs[1 - i]);
      if (!number || !(*number > 0) || !std::isfinite(*number)) continue;
      *scale = is_div ? *scale / *number : *scale * *number;
      nodes->push_back(id);
      value = node.inputs[1 - i];
      found = true;
      break;
    }
  }
  return value;
}

std::optional<HeadInput> find_heads(const ir::Graph& graph, ValueId value) {
  const auto dims = four_dims(graph, value);
  if (!dims) return std::nullopt;
  HeadInput input;
  input.dims = *dims;
  input.four = value;
  find_three(graph, &input);
  return input;
}

std::optional<HeadInput> find_keys(const ir::Graph& graph, ValueId value, double* scale) {
  HeadInput input;
  const ValueId turned = without_numbers(graph, value, scale, &input.nodes);
  const auto dims = four_dims(graph, turned);
  if (!dims) return std::nullopt;
  input.dims = {(*dims)[0], (*dims)[1], (*dims)[3], (*dims)[2]};
  if (const NodeId both = transposed(graph, turned, {0, 2, 3, 1}); both != kNone) {
    input.split = {both};
    input.three = unsplit(graph, source(graph, both), &input.split);
    return input.three != kNone ? std::optional(input) : std::nullopt;
  }
  if (const NodeId swap = transposed(graph, turned, {0, 1, 3, 2}); swap != kNone) {
    input.nodes.push_back(swap);
    input.four = source(graph, swap);
  } else {
    input.four = keys_through_rank_3(graph, turned, input.dims, &input.nodes);
  }
  if (input.four == kNone) return std::nullopt;
  input.four = without_numbers(graph, input.four, scale, &input.nodes);
  find_three(graph, &input);
  return input;
}

Joined find_joined(const ir::Graph& graph, ValueId four) {
  const auto dims = four_dims(graph, four);
  if (!dims || !used_once(graph, four)) return {};
  const NodeId transpose = graph.value(four).uses[0].node;
  const ir::Node& turn = graph.node(transpose);
  if (!turn.is("Transpose") || permutation(graph, turn) != kSwapHeads || !used_once(graph, turn.outputs[0]))
    return {};
  const ir::Use& use = graph.value(turn.outputs[0]).uses[0];
  const ir::Node& reshape = graph.node(use.node);
  if (!reshape.is("Reshape") || use.input != 0 || reshape.outputs[0] == kNone) return {};
  const ir::Type& type = graph.value(reshape.outputs[0]).type;
  if (!type.is_tensor() || !type.shape.has_rank || type.shape.rank() != 3) return {};
  const ir::Dim &heads = (*dims)[1], &size = (*dims)[3];
  if (!heads.known() || !size.known() || type.shape.dims[2].value != heads.value * size.value) return {};
  if (!is_same((*dims)[0], type.shape.dims[0]) && !is_same((*dims)[2], type.shape.dims[1])) return {};
  return {reshape.outputs[0], {transpose, use.node}};
}

}  // namespace tenon::transform
