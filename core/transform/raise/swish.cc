// x * Sigmoid(x) becomes Swish, and x * HardSigmoid(x) becomes HardSwish.
#include "core/transform/passes.h"
#include "core/transform/raise/raise.h"

namespace tenon::transform {

namespace {

using ir::kNone;
using ir::ValueId;

bool is_product(const ir::Node& node) {
  return node.is("Mul") && node.inputs.size() == 2 && node.find("axis") == nullptr &&
         node.inputs[0] != kNone && node.inputs[1] != kNone;
}

float attribute(const ir::Node& node, std::string_view name, float fallback) {
  const ir::Attribute* found = node.find(name);
  return found == nullptr ? fallback : found->f;
}

/// Whether `value` is max(0, min(6, x + 3)).
bool is_six(Follow& follow, ValueId value, ValueId x) {
  const ir::Node* clip = follow.made_by(value, "Clip");
  if (clip == nullptr) return false;
  const auto type = float_type(follow.graph(), x);
  const auto bound = [&](size_t input, std::string_view name, double wanted) {
    if (const ir::Attribute* given = clip->find(name)) return static_cast<double>(given->f) == wanted;
    if (!has_input(*clip, input)) return false;
    const auto number = number_of(follow.graph(), clip->inputs[input], x);
    return number && *number == wanted;
  };
  return type && bound(1, "min", 0) && bound(2, "max", 6) &&
         follow.with_number(clip->inputs[0], "Add", 3) == x;
}

/// The value that is divided by six to make `value`; kNone when there is none.
ValueId of_sixth(Follow& follow, ValueId value) {
  const ValueId divided = follow.with_number(value, "Div", 6, true);
  return divided != kNone ? divided : follow.with_number(value, "Mul", 1.0 / 6);
}

/// Whether `gate` is HardSigmoid(x) with the slope 1/6 and the offset 1/2.
bool is_hard_gate(Follow& follow, ValueId gate, ValueId x) {
  if (const ir::Node* node = follow.made_by(gate, "HardSigmoid")) {
    constexpr auto kType = ir::ElementType::kFloat32;  // of attributes
    return node->inputs[0] == x &&
           is_number(kType, static_cast<double>(attribute(*node, "alpha", 0.2f)), 1.0 / 6) &&
           attribute(*node, "beta", 0.5f) == 0.5f;
  }
  const ValueId six = of_sixth(follow, gate);
  return six != kNone && is_six(follow, six, x);
}

/// Nodes of x * (gate of x); empty when `product` is something else. `other` is the index of x.
std::vector<ir::NodeId> hard_swish_from(const ir::Graph& graph, ir::NodeId product, size_t other) {
  const ir::Node& node = graph.node(product);
  const ValueId x = node.inputs[other];
  Follow follow(graph);
  if (!is_hard_gate(follow, node.inputs[1 - other], x)) return {};
  std::vector<ir::NodeId> nodes = follow.nodes();
  nodes.push_back(product);
  return nodes;
}

bool raise_as_hard_swish(Surroundings& around, ir::Graph& graph, std::vector<ir::NodeId> nodes, ValueId x,
                         ValueId output) {
  return raise(around, graph, {"hard_swish", std::move(nodes), output, "HardSwish", {x}, {}});
}

/// x * max(0, min(6, x + 3)) / 6, where the division comes last.
bool raise_divided_last(Surroundings& around, ir::Graph& graph, ir::NodeId id) {
  Follow outer(graph);
  const ValueId output = graph.node(id).outputs[0], product = of_sixth(outer, output);
  const ir::Node* node = product == kNone ? nullptr : outer.made_by(product, "Mul");
  if (node == nullptr || !is_product(*node)) return false;
  for (const size_t other : {0, 1}) {
    Follow follow = outer;
    const ValueId x = node->inputs[other];
    if (is_six(follow, node->inputs[1 - other], x))
      return raise_as_hard_swish(around, graph, follow.nodes(), x, output);
  }
  return false;
}

}  // namespace

Result<bool> raise_swish(Surroundings& around, ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (!is_product(node)) return false;
  for (const size_t other : {0, 1}) {
    const ValueId x = node.inputs[other];
    Follow follow(graph);
    const ir::Node* gate = follow.made_by(node.inputs[1 - other], "Sigmoid");
    if (gate == nullptr || gate->inputs[0] != x || !float_type(graph, x)) continue;
    std::vector<ir::NodeId> nodes = follow.nodes();
    nodes.push_back(id);
    return raise(around, graph, {"swish", std::move(nodes), node.outputs[0], "Swish", {x}, {}});
  }
  return false;
}

Result<bool> raise_hard_swish(Surroundings& around, ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (node.outputs.empty() || node.outputs[0] == kNone) return false;
  if (is_product(node)) {
    for (const size_t other : {0, 1}) {
      const ValueId x = node.inputs[other], output = node.outputs[0];
      std::vector<ir::NodeId> nodes = hard_swish_from(graph, id, other);
      if (!nodes.empty() && float_type(graph, x))
        return raise_as_hard_swish(around, graph, std::move(nodes), x, output);
    }
  }
  return raise_divided_last(around, graph, id);
}

}  // namespace tenon::transform
