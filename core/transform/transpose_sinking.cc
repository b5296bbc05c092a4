// Merges two Transposes in a row. Cancels Transposes that undo each other, also across elementwise nodes.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "core/ops/ops.h"
#include "core/transform/edit.h"
#include "core/transform/passes.h"

namespace tenon::transform {

namespace {

using Permutation = std::vector<int64_t>;

constexpr size_t kMaxRegion = 16;  // nodes between the Transposes

/// The permutation that applies `first`, then `second`.
Permutation compose(const Permutation& first, const Permutation& second) {
  Permutation out(second.size());
  for (size_t i = 0; i < second.size(); ++i) out[i] = first[static_cast<size_t>(second[i])];
  return out;
}

bool is_identity(const Permutation& perm) { return std::is_sorted(perm.begin(), perm.end()); }

/// Elementwise operators, which do not depend on the order of axes.
bool is_elementwise(const ir::Node& node) {
  static const std::set<std::string_view> names = {
      "Abs",         "Acos",      "Add",       "Asin",       "Atan", "Cast",  "Ceil",  "Celu",
      "Clip",        "Cos",       "Div",       "Elu",        "Erf",  "Exp",   "Floor", "Gelu",
      "HardSigmoid", "HardSwish", "LeakyRelu", "Log",        "Max",  "Min",   "Mish",  "Mul",
      "Neg",         "Not",       "Pow",       "Reciprocal", "Relu", "Round", "Selu",  "Sigmoid",
      "Sign",        "Sin",       "Softplus",  "Softsign",   "Sqrt", "Sub",   "Tan",   "Tanh",
      "Where",       "Equal",     "Greater",   "Less",       "And",  "Or",    "Xor",   "Swish"};
  // Before opset 7, operators broadcast along an explicit axis.
  return node.domain.empty() && names.count(node.op_type) != 0 && node.find("axis") == nullptr &&
         node.find("broadcast") == nullptr;
}

/// The elementwise nodes between a Transpose and the Transposes that it undoes.
class Region {
 public:
  Region(const ir::Graph& graph, ir::NodeId last) : graph_(graph), last_(last) {
    perm_ = permutation(graph, graph.node(last));
  }

  /// Whether the region can be computed in the axis order after the last Transpose, and at least one Transpose
  /// before it can be removed.
  bool find() {
    if (perm_.empty()) return false;
    const ir::ValueId top = graph_.node(last_).inputs[0];
    return grow(top) && !nodes_.empty() && saves_;
  }

  const std::set<ir::NodeId>& nodes() const { return nodes_; }
  const Permutation& perm() const { return perm_; }
  /// Inputs of the region from outside: the Transpose to skip, or kNone for a single element.
  const std::map<std::pair<ir::NodeId, uint32_t>, ir::NodeId>& leaves() const { return leaves_; }

 private:
  bool grow(ir::ValueId value) {
    const ir::NodeId producer = graph_.value(value).producer;
    if (nodes_.count(producer) != 0) return true;
    if (nodes_.size() == kMaxRegion || !is_elementwise(graph_.node(producer))) return false;
    const ir::Node& node = graph_.node(producer);
    if (node.outputs.size() != 1 || !used_only_inside_or_last(value)) return false;
    if (graph_.value(value).type.shape.rank() != perm_.size()) return false;
    nodes_.insert(producer);
    for (uint32_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != ir::kNone && !take_input(producer, i)) return false;
    }
    return true;
  }

  bool take_input(ir::NodeId id, uint32_t index) {
    const ir::ValueId value = graph_.node(id).inputs[index];
    const ir::Value& v = graph_.value(value);
    if (v.is_constant()) {
      if (v.constant->element_count() != 1 && v.constant->dims().size() != perm_.size()) return false;
      if (v.constant->element_count() != 1) return false;
      leaves_[{id, index}] = ir::kNone;
      return true;
    }
    // A scalar has no axes.
    if (v.type.is_tensor() && v.type.shape.has_rank && v.type.shape.rank() == 0) {
      leaves_[{id, index}] = ir::kNone;
      return true;
    }
    if (v.producer == ir::kNone) return false;
    const ir::Node& producer = graph_.node(v.producer);
    if (producer.is("Transpose")) {
      const Permutation first = permutation(graph_, producer);
      if (first.size() != perm_.size() || !is_identity(compose(first, perm_))) return false;
      saves_ = saves_ || used_once(graph_, value);
      leaves_[{id, index}] = v.producer;
      return true;
    }
    return grow(value);
  }

  /// Only one use is allowed, the one the walk came from. A value with two uses inside would need another check.
  bool used_only_inside_or_last(ir::ValueId value) const { return used_once(graph_, value); }

  const ir::Graph& graph_;
  ir::NodeId last_;
  Permutation perm_;
  std::set<ir::NodeId> nodes_;
  std::map<std::pair<ir::NodeId, uint32_t>, ir::NodeId> leaves_;
  bool saves_ = false;
};

ir::Type permuted(ir::Type type, const Permutation& perm) {
  if (type.shape.rank() != perm.size()) return type;
  std::vector<ir::Dim> dims;
  for (const int64_t axis : perm) dims.push_back(type.shape.dims[static_cast<size_t>(axis)]);
  type.shape.dims = std::move(dims);
  return type;
}

bool cancel_across(ir::Graph& graph, ir::NodeId last) {
  Region region(graph, last);
  if (!region.find()) return false;
  const ir::ValueId from = graph.node(last).outputs[0], to = graph.node(last).inputs[0];
  if (!forward(graph, from, to)) return false;
  remove_node_and_outputs(graph, last);
  for (const auto& leaf : region.leaves()) {
    if (leaf.second == ir::kNone) continue;
    graph.set_input(leaf.first.first, leaf.first.second, graph.node(leaf.second).inputs[0]);
  }
  for (const auto& leaf : region.leaves()) {
    if (leaf.second != ir::kNone && graph.has_node(leaf.second)) remove_if_unused(graph, leaf.second);
  }
  for (const ir::NodeId id : region.nodes()) {
    const ir::ValueId out = graph.node(id).outputs[0];
    graph.set_type(out, permuted(graph.value(out).type, region.perm()));
  }
  return true;
}

}  // namespace

Result<bool> sink_transpose(Surroundings&, ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (!node.is("Transpose") || !has_input(node, 0) || node.outputs[0] == ir::kNone) return false;
  const ir::NodeId before = producer_of(graph, node, 0, "Transpose");
  if (before != ir::kNone) {
    const Permutation first = permutation(graph, graph.node(before)), second = permutation(graph, node);
    if (first.empty() || first.size() != second.size()) return false;
    graph.mutable_node(id).attributes = {ir::Attribute::of_ints("perm", compose(first, second))};
    graph.mutable_node(id).parts = nullptr;  // they have the permutation that it had
    graph.set_input(id, 0, graph.node(before).inputs[0]);
    remove_if_unused(graph, before);
    return true;
  }
  if (graph.value(node.inputs[0]).producer == ir::kNone) return false;
  return cancel_across(graph, id);
}

}  // namespace tenon::transform
