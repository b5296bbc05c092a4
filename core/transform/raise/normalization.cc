#include "core/transform/raise/normalization.h"

#include <algorithm>
#include <cmath>

namespace tenon::transform {

namespace {

using ir::ElementType;
using ir::kNone;
using ir::NodeId;
using ir::ValueId;

/// Follows values to their only reader.
class Onward {
 public:
  Onward(const ir::Graph& graph, ValueId value) : graph_(&graph), value_(value) {}

  ValueId value() const { return value_; }
  const std::vector<NodeId>& nodes() const { return nodes_; }

  /// The reader, if it is this operator; null otherwise.
  const ir::Node* reader(std::string_view op_type) const {
    if (value_ == kNone || !used_once(*graph_, value_)) return nullptr;
    const ir::Node& node = graph_->node(graph_->value(value_).uses[0].node);
    const bool fits = node.is(op_type) && node.find("axis") == nullptr && node.outputs.size() == 1;
    return fits && node.outputs[0] != kNone ? &node : nullptr;
  }
  void step() {
    const NodeId id = graph_->value(value_).uses[0].node;
    nodes_.push_back(id);
    value_ = graph_->node(id).outputs[0];
  }
  /// Steps over the reader when it is `op_type` with one input.
  bool step(std::string_view op_type) {
    if (reader(op_type) == nullptr) return false;
    step();
    return true;
  }
  /// The operand beside the value in a reader with two; kNone when there is none. `place`: where the value must stand,
  /// or -1.
  ValueId beside(std::string_view op_type, int place) const {
    const ir::Node* node = reader(op_type);
    if (node == nullptr || node->inputs.size() != 2) return kNone;
    const size_t own = node->inputs[0] == value_ ? 0 : 1;
    return place >= 0 && own != static_cast<size_t>(place) ? kNone : node->inputs[1 - own];
  }
  /// Steps over the reader when it is `op_type` of the value and a number, which is returned.
  std::optional<double> number(std::string_view op_type, int place) {
    const ValueId other = beside(op_type, place);
    const auto found = other == kNone ? std::nullopt : number_of(*graph_, other, value_);
    if (found) step();
    return found;
  }

 private:
  const ir::Graph* graph_;
  ValueId value_;
  std::vector<NodeId> nodes_;
};

/// Steps from a sum to one over its root, or to its root where that is what divides: `is_root` says which. False for
/// anything else.
bool step_to_inverse_root(Onward& at, bool* is_root) {
  *is_root = false;
  Onward power = at;
  if (const auto exponent = power.number("Pow", 0)) {
    at = power;
    *is_root = *exponent == 0.5;
    return *exponent == 0.5 || *exponent == -0.5;
  }
  if (!at.step("Sqrt")) return false;
  Onward inverse = at;
  if (inverse.step("Reciprocal")) {
    at = inverse;
    return true;
  }
  inverse = at;
  if (const auto one = inverse.number("Div", 1); one && *one == 1) {
    at = inverse;
    return true;
  }
  *is_root = true;
  return true;
}

bool is_narrow_or_float32(ElementType type) {
  return type == ElementType::kFloat32 || type == ElementType::kFloat16 || type == ElementType::kBFloat16;
}

/// The value whose squares `squares` are; kNone when they are none.
ValueId root_of(Follow& follow, ValueId squares) {
  if (const ir::Node* node = follow.made_by(squares, "Mul")) {
    return node->inputs.size() == 2 && node->inputs[0] == node->inputs[1] ? node->inputs[0] : kNone;
  }
  return follow.with_number(squares, "Pow", 2, true);
}

/// The dims of a tensor, -1 where not known; nothing without a rank.
std::optional<std::vector<int64_t>> dims_of(const ir::Graph& graph, ValueId value) {
  const ir::Type& type = graph.value(value).type;
  if (!type.is_tensor() || !type.shape.has_rank) return std::nullopt;
  std::vector<int64_t> dims;
  for (const ir::Dim& dim : type.shape.dims) dims.push_back(dim.value);
  return dims;
}

/// The last `axes` dims of `x`; nothing when one is not known.
std::optional<std::vector<int64_t>> normalized_dims(const ir::Graph& graph, ValueId x, int64_t axes) {
  const auto dims = dims_of(graph, x);
  if (!dims || static_cast<int64_t>(dims->size()) < axes) return std::nullopt;
  std::vector<int64_t> last(dims->end() - axes, dims->end());
  if (std::any_of(last.begin(), last.end(), [](int64_t dim) { return dim <= 0; })) return std::nullopt;
  return last;
}

}  // namespace

int64_t last_axes(const ir::Graph& graph, const ir::Node& mean) {
  const int rank = input_rank(graph, mean, 0);
  if (!mean.is("ReduceMean") || mean.int_or("keepdims", 1) != 1 || rank <= 0) return 0;
  auto axes = ints_of(graph, mean, "axes", 1);
  if (!axes || axes->empty()) return 0;
  for (int64_t& axis : *axes) axis = axis < 0 ? axis + rank : axis;
  std::sort(axes->begin(), axes->end());
  const auto count = static_cast<int64_t>(axes->size());
  for (int64_t i = 0; i < count; ++i) {
    if ((*axes)[static_cast<size_t>(i)] != rank - count + i) return 0;
  }
  return count;
}

std::optional<Normalized> find_normalized(const ir::Graph& graph, NodeId mean_id) {
  const ir::Node& mean = graph.node(mean_id);
  if (!mean.is("ReduceMean") || mean.outputs.empty() || mean.outputs[0] == kNone) return std::nullopt;
  Normalized out;
  out.axes = last_axes(graph, mean);
  if (out.axes == 0) return std::nullopt;
  Follow back(graph);
  out.d = root_of(back, mean.inputs[0]);
  const auto type = float_type(graph, out.d);
  if (!type || !is_narrow_or_float32(*type)) return std::nullopt;

  Onward at(graph, mean.outputs[0]);
  const auto epsilon = at.number("Add", -1);
  if (!epsilon || !(*epsilon >= 0)) return std::nullopt;
  out.epsilon = static_cast<float>(*epsilon);
  bool is_root = false;
  if (!step_to_inverse_root(at, &is_root)) return std::nullopt;
  if (at.beside(is_root ? "Div" : "Mul", is_root ? 1 : -1) != out.d) return std::nullopt;
  at.step();
  out.quotient = at.value();
  out.nodes = back.nodes();
  out.nodes.push_back(mean_id);
  out.nodes.insert(out.nodes.end(), at.nodes().begin(), at.nodes().end());
  return out;
}

ValueId without_mean(const ir::Graph& graph, ValueId d, int64_t axes, std::vector<NodeId>* nodes) {
  Follow follow(graph);
  const ir::Node* difference = follow.made_by(d, "Sub");
  if (difference == nullptr || difference->inputs.size() != 2 || difference->find("axis") != nullptr)
    return kNone;
  const ir::Node* mean = follow.made_by(difference->inputs[1], "ReduceMean");
  const ValueId x = difference->inputs[0];
  if (mean == nullptr || mean->inputs[0] != x || last_axes(graph, *mean) != axes) return kNone;
  nodes->insert(nodes->end(), follow.nodes().begin(), follow.nodes().end());
  return x;
}

void take_casts(const ir::Graph& graph, ValueId* x, ValueId* quotient, std::vector<NodeId>* nodes) {
  Follow follow(graph);
  const ir::Node* before = follow.made_by(*x, "Cast");
  if (before == nullptr || !used_once(graph, *quotient)) return;
  const NodeId after_id = graph.value(*quotient).uses[0].node;
  const ir::Node& after = graph.node(after_id);
  if (!after.is("Cast") || after.outputs.empty() || after.outputs[0] == kNone) return;
  const auto given = float_type(graph, before->inputs[0]), made = float_type(graph, after.outputs[0]);
  const bool narrow = given == ElementType::kFloat16 || given == ElementType::kBFloat16;
  if (!narrow || made != given || float_type(graph, *x) != ElementType::kFloat32) return;
  *x = before->inputs[0];
  *quotient = after.outputs[0];
  nodes->push_back(follow.nodes()[0]);
  nodes->push_back(after_id);
}

Parameter find_parameter(const ir::Graph& graph, ValueId value, std::string_view op_type, ValueId x,
                         int64_t axes) {
  const Onward at(graph, value);
  Parameter out;
  out.value = at.beside(op_type, -1);
  const auto wanted = normalized_dims(graph, x, axes);
  if (out.value == kNone || out.value == value || !wanted) return {};
  const auto dims = dims_of(graph, out.value);
  if (!dims || dims->size() < wanted->size()) return {};
  const size_t extra = dims->size() - wanted->size();
  if (!std::equal(wanted->begin(), wanted->end(), dims->begin() + static_cast<ptrdiff_t>(extra))) return {};
  if (!std::all_of(dims->begin(), dims->begin() + static_cast<ptrdiff_t>(extra),
                   [](int64_t d) { return d == 1; }))
    return {};
  const bool is_constant = graph.value(out.value).is_constant();
  if (extra != 0 && (!is_constant || !to_doubles(*graph.value(out.value).constant))) return {};
  out.node = graph.value(value).uses[0].node;
  out.result = graph.node(out.node).outputs[0];
  // A parameter of higher rank than the input adds dimensions to the result.
  if (dims->size() > dims_of(graph, x)->size()) return {};
  return out;
}

ValueId shaped_parameter(ir::Graph& graph, ValueId value, int64_t axes) {
  const ir::Value& given = graph.value(value);
  if (!given.is_constant() || static_cast<int64_t>(given.constant->dims().size()) == axes) return value;
  const std::vector<int64_t>& dims = given.constant->dims();
  return graph.add_constant(given.name, from_doubles(given.constant->type(), {dims.end() - axes, dims.end()},
                                                     *to_doubles(*given.constant)));
}

ValueId ones_like(ir::Graph& graph, ValueId x, int64_t axes) {
  const auto dims = normalized_dims(graph, x, axes);
  if (!dims) return kNone;
  constexpr int64_t kMost = int64_t{1} << 20;
  int64_t count = 1;
  for (const int64_t dim : *dims) count = dim > kMost / count ? kMost + 1 : count * dim;
  if (count > kMost) return kNone;
  const std::vector<double> ones(static_cast<size_t>(count), 1.0);
  return graph.add_constant("ones", from_doubles(graph.value(x).type.element, *dims, ones));
}

}  // namespace tenon::transform
