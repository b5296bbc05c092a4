// Removes nodes that return their input: Identity, Dropout at inference, Cast to the same type, Reshape to the same
// shape, Transpose that keeps the order, Pad by nothing, Slice of everything, Concat of one input, product with
// one, ...
#include <algorithm>
#include <unordered_map>

#include "core/transform/edit.h"
#include "core/transform/passes.h"

namespace tenon::transform {

namespace {

/// The arguments of a rule.
struct Site {
  const ir::Graph& graph;
  const ir::Node& node;

  const ir::Type& in() const { return graph.value(node.inputs[0]).type; }
  const ir::Type& out() const { return graph.value(node.outputs[0]).type; }
};

bool same_dim(const ir::Dim& a, const ir::Dim& b) { return a == b && (a.known() || !a.symbol.empty()); }

/// Whether the shapes are certainly the same. One dimension may be unknown if the element counts are equal.
bool same_shape(const ir::Type& a, const ir::Type& b, bool same_count) {
  if (!a.shape.has_rank || !b.shape.has_rank || a.shape.rank() != b.shape.rank()) return false;
  size_t open = 0;
  for (size_t i = 0; i < a.shape.rank(); ++i) {
    const ir::Dim &da = a.shape.dims[i], &db = b.shape.dims[i];
    if (same_dim(da, db)) {
      if (da.value == 0) return false;  // with no elements, the count says nothing
      continue;
    }
    if (da.known() && db.known()) return false;
    ++open;
  }
  return open == 0 || (same_count && open == 1);
}

bool always(const Site&) { return true; }

bool dropout(const Site& site) {
  if (!only_first_output_used(site.graph, site.node)) return false;
  if (site.node.since_version < 12 || !has_input(site.node, 2)) return true;
  const ir::TensorPtr training = constant_input(site.graph, site.node, 2);
  return training != nullptr && training->byte_size() == 1 && training->data()[0] == std::byte{0};
}

bool cast(const Site& site) {
  return site.in().is_tensor() && site.in().element != ir::ElementType::kUndefined &&
         site.in().element == site.out().element;
}

bool reshape(const Site& site) { return same_shape(site.in(), site.out(), true); }
bool keeps_shape(const Site& site) { return same_shape(site.in(), site.out(), false); }

bool transpose(const Site& site) {
  const std::vector<int64_t> perm = permutation(site.graph, site.node);
  return !perm.empty() && std::is_sorted(perm.begin(), perm.end());
}

bool pad(const Site& site) {
  const auto pads = ints_of(site.graph, site.node, site.node.since_version == 1 ? "paddings" : "pads", 1);
  return pads && !pads->empty() &&
         std::all_of(pads->begin(), pads->end(), [](int64_t pad) { return pad == 0; });
}

/// Whether the slice covers every axis from the first element to the last, in steps of one.
bool slice(const Site& site) {
  const auto starts = ints_of(site.graph, site.node, "starts", 1),
             ends = ints_of(site.graph, site.node, "ends", 2);
  if (!starts || !ends || starts->size() != ends->size()) return false;
  if (has_input(site.node, 4)) {
    const auto steps = ints_of(site.graph, site.node, "steps", 4);
    if (!steps || !std::all_of(steps->begin(), steps->end(), [](int64_t step) { return step == 1; }))
      return false;
  }
  if (!std::all_of(starts->begin(), starts->end(), [](int64_t start) { return start == 0; })) return false;
  constexpr int64_t kFarAway = INT32_MAX;
  if (std::all_of(ends->begin(), ends->end(), [](int64_t end) { return end >= kFarAway; })) return true;
  return keeps_shape(site);
}

bool one_input(const Site& site) { return site.node.inputs.size() == 1; }

bool all_equal(const ir::TensorPtr& tensor, double wanted) {
  if (tensor == nullptr || tensor->element_count() > 4096) return false;
  const auto values = to_doubles(*tensor);
  return values &&
         std::all_of(values->begin(), values->end(), [wanted](double value) { return value == wanted; });
}

/// x * 1 and x / 1 equal x bit by bit.
bool times_one(const Site& site) {
  return keeps_shape(site) && all_equal(constant_input(site.graph, site.node, 1), 1.0);
}

/// These rules hold for all element types: the value itself passes through.
const std::unordered_map<std::string_view, bool (*)(const Site&)>& rules() {
  static const std::unordered_map<std::string_view, bool (*)(const Site&)> table = {
      {"Identity", always},     {"Dropout", dropout},
      {"Cast", cast},           {"Reshape", reshape},
      {"Flatten", keeps_shape}, {"Expand", keeps_shape},
      {"Squeeze", keeps_shape}, {"Unsqueeze", keeps_shape},
      {"Transpose", transpose}, {"Pad", pad},
      {"Slice", slice},         {"Concat", one_input},
      {"Sum", one_input},       {"Max", one_input},
      {"Min", one_input},       {"Mean", one_input},
      {"Mul", times_one},       {"Div", times_one},
      {"Tile", keeps_shape},
  };
  return table;
}

}  // namespace

Result<bool> remove_identity(Surroundings&, ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (!node.domain.empty() || !has_input(node, 0) || node.outputs.empty() || node.outputs[0] == ir::kNone)
    return false;
  const auto rule = rules().find(node.op_type);
  if (rule == rules().end() || !rule->second(Site{graph, node})) return false;
  const ir::ValueId from = node.outputs[0], to = node.inputs[0];
  // A graph output keeps its declared type.
  const ir::Type declared = graph.value(from).type;
  const bool was_output = graph.value(from).output_count != 0;
  if (!forward(graph, from, to)) return false;
  if (was_output) graph.set_type(to, declared);
  remove_node_and_outputs(graph, id);
  return true;
}

}  // namespace tenon::transform
