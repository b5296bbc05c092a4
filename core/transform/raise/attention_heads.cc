// Queries, keys and values of an attention, and its result, as exporters lay them out.
#include <cmath>

#include "core/transform/raise/attention.h"
#include "core/transform/raise/views.h"

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

/// Fills in `three` where a Reshape of it makes `value` [batch, length, heads, size]. `later`: the nodes after that.
void find_unsplit(const ir::Graph& graph, ValueId value, std::vector<NodeId> later, HeadInput* input) {
  const NodeId reshape = reshaped(graph, value);
  const auto dims = reshape == kNone ? std::nullopt : four_dims(graph, value);
  if (!dims || !(*dims)[2].known() || !(*dims)[3].known()) return;
  const int64_t width = (*dims)[2].value * (*dims)[3].value;
  const ir::Type& type = graph.value(source(graph, reshape)).type;
  if (width == 0 || !type.is_tensor()) return;
  const ir::Shape& shape = type.shape;
  const bool is_rank_3 = shape.has_rank && shape.rank() == 3 && shape.dims[2].value == width &&
                         (is_same((*dims)[0], shape.dims[0]) || is_same((*dims)[1], shape.dims[1]));
  if (!is_rank_3) {
    if ((*dims)[0].value <= 0 || !takes_any_dims(graph, graph.node(reshape))) return;
    input->view = {(*dims)[0].value, -1, width};
  }
  input->three = source(graph, reshape);
  input->split = std::move(later);
  input->split.push_back(reshape);
}

/// Fills in `three` for one batch where a Transpose by `perm` of [length, heads, size], and a Reshape after it, make
/// `value`. The batch may stand elsewhere before that, as in [length, batch, heads * size].
bool find_rows(const ir::Graph& graph, ValueId value, const std::vector<int64_t>& perm, HeadInput* input) {
  const NodeId after = reshaped(graph, value);
  const NodeId transpose = after == kNone ? kNone : transposed(graph, source(graph, after), perm);
  const NodeId before = transpose == kNone ? kNone : reshaped(graph, source(graph, transpose));
  if (before == kNone || !takes_any_dims(graph, graph.node(before))) return false;
  const FourDims& dims = input->dims;
  const ir::Shape& rows = graph.value(source(graph, transpose)).type.shape;
  if (dims[0].value != 1 || !dims[1].known() || !dims[3].known() || !rows.has_rank || rows.rank() != 3)
    return false;
  if (!is_same(rows.dims[0], dims[2]) || !is_same(rows.dims[1], dims[1]) || !is_same(rows.dims[2], dims[3]))
    return false;
  input->three = source(graph, before);
  input->view = {1, -1, dims[1].value * dims[3].value};
  input->split = {after, transpose, before};
  return true;
}

/// Fills in `three` where a Transpose makes `four`.
void find_three(const ir::Graph& graph, HeadInput* input) {
  if (find_rows(graph, input->four, {1, 0, 2}, input)) return;
  const NodeId transpose = transposed(graph, input->four, kSwapHeads);
  if (transpose != kNone) find_unsplit(graph, source(graph, transpose), {transpose}, input);
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
    find_unsplit(graph, source(graph, both), {both}, &input);
    return input.three != kNone ? std::optional(input) : std::nullopt;
  }
  if (find_rows(graph, turned, {1, 2, 0}, &input)) return input;
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

std::optional<HeadInput> find_unrepeated(const ir::Graph& graph, const HeadInput& repeated) {
  const NodeId joins = repeated.four == kNone ? kNone : reshaped(graph, repeated.four);
  if (joins == kNone) return std::nullopt;
  const ValueId expanded = source(graph, joins);
  const NodeId expands = graph.value(expanded).producer;
  if (expands == kNone || !used_once(graph, expanded) || !graph.node(expands).is("Expand"))
    return std::nullopt;
  const ValueId wide = source(graph, expands);
  const NodeId widens = graph.value(wide).producer;
  if (widens == kNone || !used_once(graph, wide)) return std::nullopt;
  if (!graph.node(widens).is("Unsqueeze") && !graph.node(widens).is("Reshape")) return std::nullopt;

  // [batch, heads, length, size], [batch, heads, 1, length, size], [batch, heads, repeats, length, size]
  const auto before = four_dims(graph, source(graph, widens));
  const ir::Shape &one = graph.value(wide).type.shape, &many = graph.value(expanded).type.shape;
  if (!before || !one.has_rank || one.rank() != 5 || !many.has_rank || many.rank() != 5) return std::nullopt;
  for (size_t i = 0; i < 4; ++i) {
    const size_t at = i < 2 ? i : i + 1;
    if (!is_same((*before)[i], one.dims[at]) || !is_same((*before)[i], many.dims[at])) return std::nullopt;
    if (i != 1 && !is_same((*before)[i], repeated.dims[i])) return std::nullopt;
  }
  // Then the counts of elements say that the axis between has one element before, and that all repeats were joined.
  if (!(*before)[1].known() || !many.dims[2].known()) return std::nullopt;

  HeadInput input;
  input.dims = *before;
  input.four = source(graph, widens);
  input.nodes = repeated.nodes;
  input.nodes.insert(input.nodes.end(), {joins, expands, widens});
  find_three(graph, &input);
  return input;
}

Joined find_joined(const ir::Graph& graph, ValueId four) {
  const auto dims = four_dims(graph, four);
  if (!dims || !used_once(graph, four) || !(*dims)[1].known() || !(*dims)[3].known()) return {};
  const int64_t width = (*dims)[1].value * (*dims)[3].value;
  const NodeId transpose = graph.value(four).uses[0].node;
  const ir::Node& turn = graph.node(transpose);
  if (!turn.is("Transpose") || turn.outputs[0] == kNone) return {};
  const ValueId turned = turn.outputs[0];
  const std::vector<int64_t> perm = permutation(graph, turn);
  if (perm == std::vector<int64_t>{2, 0, 1, 3} && (*dims)[0].value == 1)
    return {turned, {1, -1, width}, {transpose}};
  if (perm != kSwapHeads) return {};
  Joined seen{turned, {0, 0, width}, {transpose}};
  if (!used_once(graph, turned)) return seen;
  const ir::Use& use = graph.value(turned).uses[0];
  const ir::Node& reshape = graph.node(use.node);
  if (!reshape.is("Reshape") || use.input != 0 || reshape.outputs[0] == kNone) return {};
  const ir::Type& type = graph.value(reshape.outputs[0]).type;
  if (!type.is_tensor() || !type.shape.has_rank || type.shape.rank() != 3) return seen;
  if (type.shape.dims[2].value != width) return seen;
  if (!is_same((*dims)[0], type.shape.dims[0]) && !is_same((*dims)[2], type.shape.dims[1])) return seen;
  return {reshape.outputs[0], {}, {transpose, use.node}};
}

}  // namespace tenon::transform
