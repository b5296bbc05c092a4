// Masks of an attention: their forms, and whether they leave a key to each query.
//
// A softmax of scores that are all -infinity is NaN, and Attention gives zeros there. So the difference matters where a mask
// may exclude all keys of a query.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/transform/raise/attention.h"

namespace tenon::transform {

namespace {

using ir::ElementType;
using ir::kNone;
using ir::ValueId;

constexpr int kMostSteps = 64;  // of a bound
constexpr double kNever =
    -std::numeric_limits<double>::infinity();  // added to the score of a key that nobody sees

std::optional<double> lowest(ElementType type) {
  if (type == ElementType::kFloat32) return -static_cast<double>(std::numeric_limits<float>::max());
  if (type == ElementType::kBFloat16) return -0x1.FEp127;
  if (type == ElementType::kFloat16) return -65504.0;
  return std::nullopt;
}

/// Finds a number that no element of a value exceeds in magnitude.
class Bound {
 public:
  explicit Bound(const ir::Graph& graph) : graph_(graph) {}

  /// Nothing when there is none, or none below infinity in the value's type.
  std::optional<double> of(ValueId value) {
    if (value == kNone || ++steps_ > kMostSteps || !graph_.value(value).type.is_tensor()) return std::nullopt;
    const ElementType type = graph_.value(value).type.element;
    if (type == ElementType::kBool) return 1.0;
    if (type == ElementType::kInt32) return 0x1p31;
    if (type == ElementType::kInt64) return 0x1p63;
    const auto most = lowest(type);
    const auto bound = most ? of_float(value) : std::nullopt;
    return bound && *bound <= -*most ? bound : std::nullopt;
  }

 private:
  std::optional<double> of_float(ValueId value) {
    const ir::Value& v = graph_.value(value);
    if (v.is_constant()) return of_constant(*v.constant);
    if (v.producer == kNone || !graph_.node(v.producer).domain.empty()) return std::nullopt;
    const ir::Node& node = graph_.node(v.producer);
    static const std::set<std::string_view> moving = {
        "Cast", "Unsqueeze", "Squeeze",   "Reshape", "Expand", "Slice", "Gather",
        "Tile", "Identity",  "Transpose", "Flatten", "Neg",    "Abs"};
    if (moving.count(node.op_type) != 0) return of(node.inputs[0]);
    if (node.is("Where")) return both(node, 1, [](double a, double b) { return std::max(a, b); });
    if (node.is("Add") || node.is("Sub")) return both(node, 0, [](double a, double b) { return a + b; });
    if (node.is("Mul")) return both(node, 0, [](double a, double b) { return a * b; });
    return std::nullopt;
  }

  template <class Combine>
  std::optional<double> both(const ir::Node& node, size_t first, Combine combine) {
    if (node.inputs.size() != first + 2) return std::nullopt;
    const auto a = of(node.inputs[first]), b = of(node.inputs[first + 1]);
    if (!a || !b) return std::nullopt;
    return combine(*a, *b);
  }

  static std::optional<double> of_constant(const ir::Tensor& tensor) {
    const auto numbers = to_doubles(tensor);
    if (!numbers) return std::nullopt;
    double most = 0;
    for (const double number : *numbers) {
      if (!std::isfinite(number)) return std::nullopt;
      most = std::max(most, std::fabs(number));
    }
    return most;
  }

  const ir::Graph& graph_;
  int steps_ = 0;
};

/// Whether each row of a constant has an element for which `takes_part` holds.
template <class TakesPart>
bool each_row(const ir::Tensor& tensor, TakesPart takes_part) {
  const std::vector<int64_t>& dims = tensor.dims();
  if (dims.empty() || dims.back() <= 0) return false;
  const auto row = static_cast<size_t>(dims.back()), count = static_cast<size_t>(tensor.element_count());
  for (size_t begin = 0; begin < count; begin += row) {
    bool any = false;
    for (size_t i = begin; i < begin + row && !any; ++i) any = takes_part(i);
    if (!any) return false;
  }
  return true;
}

/// Where(mask, scores, number), or with the operands the other way round.
std::optional<AttentionMask> find_selection(const ir::Graph& graph, const ir::Node& where, ir::NodeId id) {
  if (where.inputs.size() != 3) return std::nullopt;
  for (const size_t kept : {1, 2}) {
    const ValueId scores = where.inputs[kept], other = where.inputs[3 - kept];
    const auto number = number_of(graph, other, scores);
    if (!number) continue;
    return AttentionMask{scores, where.inputs[0], *number, kept == 2, {id}};
  }
  return std::nullopt;
}

/// Whether the mask certainly leaves a key to each query.
bool leaves_a_key(const ir::Graph& graph, const AttentionMask& mask) {
  const ir::TensorPtr& constant = graph.value(mask.value).constant;
  if (!mask.excluded && constant == nullptr) return Bound(graph).of(mask.value).has_value();
  if (constant == nullptr) return false;
  if (constant->type() == ElementType::kBool)
    return each_row(*constant,
                    [&](size_t i) { return (constant->data()[i] != std::byte{0}) != mask.is_inverted; });
  const auto numbers = to_doubles(*constant);
  return numbers && each_row(*constant, [&](size_t i) { return (*numbers)[i] != kNever; });
}

}  // namespace

std::vector<AttentionMask> find_masks(const ir::Graph& graph, ValueId scores) {
  const ir::NodeId id = graph.value(scores).producer;
  if (id == kNone || !used_once(graph, scores)) return {};
  const ir::Node& node = graph.node(id);
  if (node.is("Where")) {
    const auto selection = find_selection(graph, node, id);
    if (selection) return {*selection};
  }
  if (node.is("Add") && node.inputs.size() == 2 && node.find("axis") == nullptr) {
    return {{node.inputs[0], node.inputs[1], {}, false, {id}},
            {node.inputs[1], node.inputs[0], {}, false, {id}}};
  }
  return {{scores}};
}

bool mask_fits(const ir::Graph& graph, const AttentionMask& mask, const FourDims& scores) {
  const ir::Type& type = graph.value(mask.value).type;
  if (!type.is_tensor() || !type.shape.has_rank || type.shape.rank() < 2 || type.shape.rank() > 4)
    return false;
  // A mask with fewer keys than the scores excludes the others: its last dimension does not broadcast.
  for (size_t i = 0; i < type.shape.rank(); ++i) {
    const ir::Dim &own = type.shape.dims[type.shape.rank() - 1 - i], &wanted = scores[3 - i];
    if (!is_same(own, wanted) && (i == 0 || own.value != 1)) return false;
  }
  return true;
}

bool mask_means_the_same(const ir::Graph& graph, const AttentionMask& mask, bool is_guarded) {
  if (mask.value == kNone) return true;
  if (mask.excluded && *mask.excluded != kNever) {
    // Where each query has a key, the lowest number is as good as -infinity: its exponential is 0. In float16 a score may
    // come near it.
    const ElementType type = graph.value(mask.scores).type.element;
    if (type == ElementType::kFloat16 || mask.excluded != lowest(type)) return false;
    return leaves_a_key(graph, mask);
  }
  return is_guarded || leaves_a_key(graph, mask);
}

}  // namespace tenon::transform
