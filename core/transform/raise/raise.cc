#include "core/transform/raise/raise.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "core/ops/ops.h"
#include "core/transform/contrib/lower.h"
#include "core/transform/raise/views.h"

namespace tenon::transform {

namespace {

using ir::kNone;
using ir::NodeId;
using ir::ValueId;

/// All nodes for which the raised one stands.
std::unordered_set<NodeId> all_nodes(const Raised& raised) {
  std::unordered_set<NodeId> all(raised.nodes.begin(), raised.nodes.end());
  all.insert(raised.shared.begin(), raised.shared.end());
  return all;
}

/// Whether the graph gives the value as an output, or a node that is not in `inside` reads it.
bool is_read_outside(const ir::Graph& graph, ValueId id, const std::unordered_set<NodeId>& inside) {
  const ir::Value& value = graph.value(id);
  return value.output_count != 0 ||
         std::any_of(value.uses.begin(), value.uses.end(),
                     [&](const ir::Use& use) { return use.input == kNone || inside.count(use.node) == 0; });
}

/// Takes nodes out of a graph as a function body of `call`, whose inputs are there already.
class Extraction {
 public:
  Extraction(const ir::Graph& graph, const Raised& raised, const ir::Node& call)
      : graph_(graph),
        raised_(raised),
        call_(call),
        inside_(all_nodes(raised)),
        shared_(raised.shared.begin(), raised.shared.end()) {}

  /// Null when the nodes do not stand alone.
  std::shared_ptr<const ir::Function> run() {
    auto function = std::make_shared<ir::Function>();
    function->name = std::string(raised_.transform);
    body_ = &function->body;
    for (size_t i = 0; i < raised_.inputs.size(); ++i) {
      const ValueId input = raised_.inputs[i];
      if (input == kNone) {  // the body has an input for it, which nothing reads
        body_->add_input(body_->add_value("missing"));
        continue;
      }
      const ir::Value& outer = graph_.value(call_.inputs[i]);
      const ValueId inner = body_->add_value(outer.name, outer.type);
      body_->add_input(inner);
      map_.emplace(input, inner);  // the nodes read the first of two that are one value
    }
    // There are few nodes: each sweep copies those whose inputs are there.
    std::vector<NodeId> rest(inside_.begin(), inside_.end());
    std::sort(rest.begin(), rest.end());
    while (!rest.empty()) {
      const size_t before = rest.size();
      for (size_t i = 0; i < rest.size();) {
        if (!is_ready(graph_.node(rest[i]))) {
          ++i;
          continue;
        }
        if (!copy(rest[i])) return nullptr;
        rest.erase(rest.begin() + static_cast<ptrdiff_t>(i));
      }
      if (rest.size() == before) return nullptr;  // it reads something else
    }
    const auto output = map_.find(raised_.output);
    if (output == map_.end() || body_->value(output->second).producer == kNone) return nullptr;
    ValueId result = output->second;
    if (raised_.output_view) {
      Emitter emit(*body_, kLoweringOpset, view_prefix(call_.name));
      result = emit.reshape(result, *raised_.output_view);
      if (!emit.status().ok()) return nullptr;
    }
    body_->add_output(result);
    return function;
  }

 private:
  ValueId map_value(ValueId value) {
    const ir::Value& outer = graph_.value(value);
    return map_[value] = body_->add_value(outer.name, outer.type);
  }

  bool is_ready(const ir::Node& node) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input == kNone || map_.count(input) != 0 || graph_.value(input).is_constant();
    });
  }

  bool copy(NodeId id) {
    ir::Node made = graph_.node(id);
    if (made.has_subgraph()) return false;
    for (ValueId& input : made.inputs) {
      if (input == kNone) continue;
      const ir::Value& value = graph_.value(input);
      if (map_.count(input) == 0 && value.is_constant()) {
        map_[input] = body_->add_constant(value.name, value.constant);
      }
      input = map_.at(input);
    }
    for (ValueId& output : made.outputs) {
      if (output == kNone) continue;
      const bool may_be_read = output == raised_.output || shared_.count(id) != 0;
      if (!may_be_read && is_read_outside(graph_, output, inside_)) return false;
      output = map_value(output);
    }
    body_->add_node(std::move(made));
    return true;
  }

  const ir::Graph& graph_;
  const Raised& raised_;
  const ir::Node& call_;
  std::unordered_set<NodeId> inside_, shared_;
  ir::Graph* body_ = nullptr;
  std::unordered_map<ValueId, ValueId> map_;
};

/// Whether the node gives a tensor like `wanted`. Dimensions that only one side knows do not count.
bool gives(const ir::Graph& graph, const ir::Node& node, const ir::Type& wanted) {
  ops::InferInputs known;
  for (const ValueId input : node.inputs) {
    known.types.push_back(input == kNone ? nullptr : &graph.value(input).type);
    known.values.push_back(input == kNone ? nullptr : graph.value(input).constant.get());
  }
  const Result<std::vector<ir::Type>> types = ops::infer_node(node, known);
  if (!types.ok() || types->empty()) return false;
  const ir::Type& made = (*types)[0];
  if (!made.is_tensor() || !wanted.is_tensor() || made.element != wanted.element) return false;
  if (!made.shape.has_rank || !wanted.shape.has_rank) return true;
  if (made.shape.rank() != wanted.shape.rank()) return false;
  for (size_t i = 0; i < made.shape.rank(); ++i) {
    const int64_t a = made.shape.dims[i].value, b = wanted.shape.dims[i].value;
    if (a >= 0 && b >= 0 && a != b) return false;
  }
  return true;
}

/// Removes the nodes, the values between them and the constants that only they read, except those in `kept`.
void remove_all(ir::Graph& graph, const std::unordered_set<NodeId>& nodes,
                const std::unordered_set<ValueId>& kept) {
  std::unordered_set<ValueId> touched;
  for (const NodeId id : nodes) {
    for (const auto* values : {&graph.node(id).inputs, &graph.node(id).outputs})
      touched.insert(values->begin(), values->end());
  }
  for (const NodeId id : nodes) graph.remove_node(id);
  for (const ValueId id : touched) {
    if (id == kNone || kept.count(id) != 0) continue;
    const ir::Value& value = graph.value(id);
    const bool bound = value.is_input || value.is_capture || value.output_count != 0;
    if (value.producer == kNone && value.uses.empty() && !bound) graph.remove_value(id);
  }
}

/// The nodes of `raised` without the shared ones that others read.
std::unordered_set<NodeId> replaced_nodes(const ir::Graph& graph, const Raised& raised) {
  const std::unordered_set<NodeId> all = all_nodes(raised);
  std::unordered_set<NodeId> replaced(raised.nodes.begin(), raised.nodes.end());
  for (const NodeId id : raised.shared) {
    const std::vector<ValueId>& outputs = graph.node(id).outputs;
    const bool stays = std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
      return output != kNone && is_read_outside(graph, output, all);
    });
    if (!stays) replaced.insert(id);
  }
  return replaced;
}

/// The type of `output` in the shape of the view; that of the value itself without one.
std::optional<ir::Type> result_type(ir::Graph& graph, const Raised& raised) {
  const ir::Type& own = graph.value(raised.output).type;
  if (!raised.output_view) return own;
  ir::Graph scratch;
  const ValueId value = scratch.add_value("x", own);
  Emitter emit(scratch, kLoweringOpset, "");
  const ValueId seen = emit.reshape(value, *raised.output_view);
  return emit.status().ok() ? std::optional(emit.type(seen)) : std::nullopt;
}

bool try_raise(ir::Graph& graph, const Raised& raised, ir::Node node) {
  const auto type = result_type(graph, raised);
  if (node.since_version == 0 || !type || !gives(graph, node, *type)) return false;
  if (raised.output_view && !may_skip_view(graph, raised.output)) return false;
  node.parts = Extraction(graph, raised, node).run();
  if (node.parts == nullptr) return false;
  std::unordered_set<ValueId> kept(node.inputs.begin(), node.inputs.end());
  kept.insert(raised.output);
  remove_all(graph, replaced_nodes(graph, raised), kept);
  if (raised.output_view) {
    node.outputs[0] = graph.add_value(view_prefix(graph.value(raised.output).name), *type);
    graph.replace_uses(raised.output, node.outputs[0]);
    graph.remove_value(raised.output);
  }
  graph.add_node(std::move(node));
  return true;
}

/// The operator, which the graph does not have yet, and the views of its inputs, which it has.
ir::Node make_call(Surroundings& around, ir::Graph& graph, const Raised& raised) {
  ir::Node node;
  const ir::Node& last = graph.node(graph.value(raised.output).producer);
  node.name = last.name;
  node.doc = last.doc;
  node.domain = std::string(raised.domain);
  node.op_type = std::string(raised.op_type);
  node.since_version =
      raised.since_version != 0
          ? raised.since_version
          : ops::schema_since_version(
                raised.domain, raised.op_type,
                std::max(kLoweringOpset, ops::opset_of(around.model.opset_imports, raised.domain)));
  node.inputs = raised.inputs;
  node.attributes = raised.attributes;
  node.outputs = {raised.output};
  for (const auto& [input, shape] : raised.input_views) {
    Emitter emit(graph, ops::opset_of(around.model.opset_imports, ""), view_prefix(node.name));
    node.inputs[input] = emit.reshape(raised.inputs[input], shape);
  }
  return node;
}

}  // namespace

bool raise(Surroundings& around, ir::Graph& graph, const Raised& raised) {
  if (graph.value(raised.output).producer == kNone) return false;
  ir::Node call = make_call(around, graph, raised);
  const std::vector<ValueId> given = call.inputs;
  const bool is_viewed = std::all_of(raised.input_views.begin(), raised.input_views.end(),
                                     [&](const auto& view) { return given[view.first] != kNone; });
  if (is_viewed && try_raise(graph, raised, std::move(call))) return true;
  for (const auto& [input, shape] : raised.input_views) {
    if (given[input] != kNone) remove_if_unused(graph, graph.value(given[input]).producer);
  }
  for (const ValueId input : raised.inputs) {
    if (input == kNone || !graph.has_value(input)) continue;
    const ir::Value& value = graph.value(input);
    if (value.is_constant() && value.uses.empty() && value.output_count == 0) graph.remove_value(input);
  }
  return false;
}

namespace {

/// Puts the parts of a raised node into its graph.
class PutBack {
 public:
  PutBack(ir::Graph& graph, const ir::Node& call)
      : graph_(graph), call_(call), body_(call.parts->body), map_(body_.value_limit(), kNone) {
    for (size_t i = 0; i < call.inputs.size(); ++i) map_[body_.inputs()[i]] = call.inputs[i];
    map_[body_.outputs()[0]] = call.outputs[0];
  }

  std::vector<NodeId> run() {
    std::vector<NodeId> made;
    // Nodes of a body were added in order.
    for (NodeId n = 0; n < body_.node_limit(); ++n) {
      ir::Node node = body_.node(n);
      for (ValueId& input : node.inputs) input = place(input);
      if (skip_as_last_view(node)) continue;
      skip_view_before(node);
      if (const NodeId same = find(node); same != kNone) {
        for (size_t i = 0; i < node.outputs.size(); ++i) {
          if (node.outputs[i] != kNone) map_[node.outputs[i]] = graph_.node(same).outputs[i];
        }
        made.push_back(same);
        continue;
      }
      for (ValueId& output : node.outputs) output = place(output);
      made.push_back(graph_.add_node(std::move(node)));
    }
    for (const NodeId view : views_) remove_if_unused(graph_, view);
    return made;
  }

 private:
  ValueId place(ValueId inner) {
    if (inner == kNone || map_[inner] != kNone) return inner == kNone ? kNone : map_[inner];
    const ir::Value& value = body_.value(inner);
    return map_[inner] = value.is_constant() ? graph_.add_constant(value.name, value.constant)
                                             : graph_.add_value(value.name, value.type);
  }

  /// Whether the node is the view of the result, and those that read it now read what it views.
  bool skip_as_last_view(const ir::Node& node) {
    const ValueId result = call_.outputs[0];
    if (!is_view(call_, node) || !may_skip_view(graph_, result)) return false;
    graph_.replace_uses(result, node.inputs[0]);
    graph_.remove_value(result);
    for (const ValueId input : node.inputs) {
      const ir::Value& value = graph_.value(input);
      if (value.is_constant() && value.uses.empty()) graph_.remove_value(input);
    }
    return true;
  }
  /// A Reshape reads what a view before it views.
  void skip_view_before(ir::Node& node) {
    const NodeId view = takes_any_dims(graph_, node) ? view_of(graph_, node.inputs[0], call_.name) : kNone;
    if (view == kNone) return;
    node.inputs[0] = graph_.node(view).inputs[0];
    views_.push_back(view);
  }

  /// The node itself, which stayed in the graph because others read it, or which another raised node has put back.
  NodeId find(const ir::Node& node) const {
    const auto read =
        std::find_if(node.inputs.begin(), node.inputs.end(), [](ValueId v) { return v != kNone; });
    if (read == node.inputs.end()) return kNone;
    for (const ir::Use& use : graph_.value(*read).uses) {
      const ir::Node& other = graph_.node(use.node);
      if (other.name == node.name && is_same(other, node)) return use.node;
    }
    return kNone;
  }

  /// Constants that only the parts read were copied for each of them.
  bool is_same(const ir::Node& other, const ir::Node& node) const {
    if (!same_operator(other, node) || other.inputs.size() != node.inputs.size() ||
        other.outputs.size() != node.outputs.size())
      return false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId a = other.inputs[i], b = node.inputs[i];
      if (a == b) continue;
      if (a == kNone || b == kNone || !graph_.value(a).is_constant()) return false;
      if (graph_.value(a).constant != graph_.value(b).constant) return false;
    }
    return true;
  }

  ir::Graph& graph_;
  const ir::Node& call_;
  const ir::Graph& body_;
  std::vector<ValueId> map_;  // from values of the body
  std::vector<NodeId> views_;
};

}  // namespace

std::vector<NodeId> put_back(ir::Graph& graph, NodeId id) {
  const ir::Node call = graph.node(id);
  graph.remove_node(id);
  return PutBack(graph, call).run();
}

size_t put_back_for_file(ir::Graph& graph, int64_t opset) {
  size_t count = 0;
  for (NodeId id = 0, end = graph.node_limit(); id < end; ++id) {
    if (!graph.has_node(id)) continue;
    const ir::Node& node = graph.node(id);
    if (node.parts != nullptr && (node.since_version > opset || !ops::has_function_body(node))) {
      put_back(graph, id);
      ++count;
      continue;
    }
    for (ir::Attribute& attribute : graph.mutable_node(id).attributes) {
      for (ir::GraphBox& body : attribute.graphs) count += put_back_for_file(*body, opset);
    }
  }
  return count;
}

const ir::Node* Follow::made_by(ValueId value, std::string_view op_type) {
  if (value == kNone) return nullptr;
  const NodeId id = graph_.value(value).producer;
  if (id == kNone || !graph_.node(id).is(op_type) || graph_.value(value).producer_output != 0) return nullptr;
  nodes_.push_back(id);
  return &graph_.node(id);
}

ValueId Follow::with_number(ValueId value, std::string_view op_type, double number, bool in_order) {
  const size_t before = nodes_.size();
  const ir::Node* node = made_by(value, op_type);
  if (node == nullptr || node->inputs.size() != 2 || node->find("axis") != nullptr) {
    forget(before);
    return kNone;
  }
  for (const size_t i : {1, 0}) {
    if (in_order && i == 0) break;
    const ValueId other = node->inputs[1 - i];
    const auto type = float_type(graph_, other);
    const auto found = number_of(graph_, node->inputs[i], other);
    if (type && found && is_number(*type, *found, number)) return other;
  }
  forget(before);
  return kNone;
}

std::optional<double> number_of(const ir::Graph& graph, ValueId value, ValueId beside) {
  if (value == kNone || beside == kNone) return std::nullopt;
  const ir::TensorPtr& constant = graph.value(value).constant;
  if (constant == nullptr || constant->element_count() != 1) return std::nullopt;
  const ir::Type& type = graph.value(beside).type;
  const size_t rank = type.is_tensor() && type.shape.has_rank ? type.shape.rank() : 0;
  if (constant->dims().size() > rank) return std::nullopt;
  if (const auto numbers = to_doubles(*constant)) return (*numbers)[0];
  std::vector<int64_t> integers;
  if (!constant->to_ints(&integers)) return std::nullopt;
  return static_cast<double>(integers[0]);
}

bool is_number(ir::ElementType type, double number, double wanted) {
  double unit = 0x1p-23;
  if (type == ir::ElementType::kFloat16) unit = 0x1p-10;
  if (type == ir::ElementType::kBFloat16) unit = 0x1p-7;
  if (type == ir::ElementType::kFloat64) unit = 0x1p-52;
  return std::fabs(number - wanted) <= 4 * unit * std::fabs(wanted);
}

std::optional<ir::ElementType> float_type(const ir::Graph& graph, ValueId value) {
  if (value == kNone || !graph.value(value).type.is_tensor()) return std::nullopt;
  const ir::ElementType element = graph.value(value).type.element;
  switch (element) {
    case ir::ElementType::kFloat16:
    case ir::ElementType::kBFloat16:
    case ir::ElementType::kFloat32:
    case ir::ElementType::kFloat64:
      return element;
    default:
      return std::nullopt;
  }
}

}  // namespace tenon::transform
