// GELU written with Erf or Tanh becomes Gelu.
//
// Exporters write its products and sums in many orders. So a rule reads them as polynomials instead: everything between
// the input x, the function t and the result is sums and products of x, t and numbers. It is a GELU when the result is
// x / 2 + x t / 2 and the argument of the function has the right coefficients.
#include <cmath>
#include <map>

#include "core/transform/passes.h"
#include "core/transform/raise/raise.h"

namespace tenon::transform {

namespace {

using ir::kNone;
using ir::ValueId;

constexpr int kMostSteps = 4;   // from t to the result
constexpr int kMostDepth = 6;   // of nested sums and products
constexpr int kMostDegree = 4;  // of x and t together
constexpr double kRootOfHalf = 0.70710678118654752440, kRootOfTwoByPi = 0.79788456080286535588,
                 kCubic = 0.044715;

/// (power of x, power of t) -> coefficient
using Polynomial = std::map<std::pair<int, int>, double>;

Polynomial sum(const Polynomial& a, const Polynomial& b, double sign) {
  Polynomial out = a;
  for (const auto& [powers, coefficient] : b) out[powers] += sign * coefficient;
  return out;
}

std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  for (const auto& [p, u] : a) {
    for (const auto& [q, v] : b) {
      if (p.first + q.first + p.second + q.second > kMostDegree) return std::nullopt;
      out[{p.first + q.first, p.second + q.second}] += u * v;
    }
  }
  return out;
}

/// Reads values as polynomials of x and t.
class Reader {
 public:
  Reader(const ir::Graph& graph, ValueId x, ValueId t) : graph_(graph), follow_(graph), x_(x), t_(t) {}

  const std::vector<ir::NodeId>& nodes() const { return follow_.nodes(); }

  std::optional<Polynomial> read(ValueId value, int depth = 0) {
    if (value == x_) return Polynomial{{{1, 0}, 1.0}};
    if (value == t_) return Polynomial{{{0, 1}, 1.0}};
    if (value == kNone || depth > kMostDepth) return std::nullopt;
    if (const auto number = number_of(graph_, value, x_)) return Polynomial{{{0, 0}, *number}};
    for (const std::string_view op : {"Mul", "Div", "Add", "Sub", "Pow"}) {
      const ir::Node* node = follow_.made_by(value, op);
      if (node == nullptr) continue;
      if (node->inputs.size() != 2 || node->find("axis") != nullptr) return std::nullopt;
      const auto left = read(node->inputs[0], depth + 1);
      if (!left) return std::nullopt;
      const auto right = read(node->inputs[1], depth + 1);
      return right ? combined(op, *left, *right) : std::nullopt;
    }
    return std::nullopt;
  }

 private:
  static std::optional<double> as_number(const Polynomial& p) {
    if (p.size() != 1 || p.begin()->first != std::pair(0, 0)) return std::nullopt;
    return p.begin()->second;
  }

  static std::optional<Polynomial> combined(std::string_view op, const Polynomial& left,
                                            const Polynomial& right) {
    if (op == "Add") return sum(left, right, 1);
    if (op == "Sub") return sum(left, right, -1);
    if (op == "Mul") return product(left, right);
    const auto number = as_number(right);
    if (!number || *number == 0) return std::nullopt;
    if (op == "Div") return product(left, {{{0, 0}, 1 / *number}});
    if (*number != 2 && *number != 3) return std::nullopt;
    std::optional<Polynomial> power = left;
    for (int i = 1; power && i < static_cast<int>(*number); ++i) power = product(*power, left);
    return power;
  }

  const ir::Graph& graph_;
  Follow follow_;
  ValueId x_, t_;
};

/// Whether two polynomials have the same terms, with coefficients that differ by rounding only.
bool is_same(ir::ElementType type, Polynomial got, const Polynomial& wanted) {
  std::erase_if(got, [](const auto& term) { return term.second == 0; });
  if (got.size() != wanted.size()) return false;
  for (const auto& [powers, coefficient] : wanted) {
    const auto found = got.find(powers);
    if (found == got.end() || !is_number(type, found->second, coefficient)) return false;
  }
  return true;
}

const Polynomial& argument_of(bool is_erf) {
  static const Polynomial erf = {{{1, 0}, kRootOfHalf}};
  static const Polynomial tanh = {{{1, 0}, kRootOfTwoByPi}, {{3, 0}, kRootOfTwoByPi * kCubic}};
  return is_erf ? erf : tanh;
}

/// The values that x may be: what the argument of the function is made of.
void add_leaves(const ir::Graph& graph, ValueId value, int depth, std::vector<ValueId>& leaves) {
  if (value == kNone || graph.value(value).is_constant()) return;
  if (std::find(leaves.begin(), leaves.end(), value) == leaves.end()) leaves.push_back(value);
  const ir::NodeId producer = graph.value(value).producer;
  if (depth == kMostDepth || producer == kNone) return;
  const ir::Node& node = graph.node(producer);
  if (!node.is("Mul") && !node.is("Div") && !node.is("Add") && !node.is("Pow")) return;
  for (const ValueId input : node.inputs) add_leaves(graph, input, depth + 1, leaves);
}

/// The only output of the only node that reads `value`; kNone when there are more.
ValueId next(const ir::Graph& graph, ValueId value) {
  if (!used_once(graph, value)) return kNone;
  const ir::Node& user = graph.node(graph.value(value).uses[0].node);
  const bool known = user.is("Mul") || user.is("Div") || user.is("Add");
  return known && user.outputs.size() == 1 ? user.outputs[0] : kNone;
}

struct Site {
  ir::NodeId function;
  ir::ElementType type;
  bool is_erf;
};

bool raise_with(Surroundings& around, ir::Graph& graph, const Site& site, ValueId x) {
  const ValueId t = graph.node(site.function).outputs[0];
  Reader inner(graph, x, kNone);
  const auto argument = inner.read(graph.node(site.function).inputs[0]);
  if (!argument || !is_same(site.type, *argument, argument_of(site.is_erf))) return false;
  ValueId output = t;
  for (int step = 0; step < kMostSteps; ++step) {
    output = next(graph, output);
    if (output == kNone) return false;
    Reader outer(graph, x, t);
    const auto result = outer.read(output);
    if (!result || !is_same(site.type, *result, {{{1, 0}, 0.5}, {{1, 1}, 0.5}})) continue;
    std::vector<ir::NodeId> nodes = inner.nodes();
    nodes.insert(nodes.end(), outer.nodes().begin(), outer.nodes().end());
    nodes.push_back(site.function);
    return raise(around, graph,
                 {"gelu",
                  nodes,
                  output,
                  "Gelu",
                  {x},
                  {ir::Attribute::of_string("approximate", site.is_erf ? "none" : "tanh")}});
  }
  return false;
}

}  // namespace

Result<bool> raise_gelu(Surroundings& around, ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const bool is_erf = node.is("Erf");
  if ((!is_erf && !node.is("Tanh")) || node.outputs.empty() || node.outputs[0] == kNone) return false;
  const auto type = float_type(graph, node.inputs[0]);
  if (!type) return false;
  std::vector<ValueId> leaves;
  add_leaves(graph, node.inputs[0], 0, leaves);
  for (const ValueId x : leaves) {
    if (raise_with(around, graph, {id, *type, is_erf}, x)) return true;
  }
  return false;
}

}  // namespace tenon::transform
