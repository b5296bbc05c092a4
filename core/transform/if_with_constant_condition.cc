// Replaces an If with a constant condition by the nodes of the branch that it takes.
#include "core/transform/edit.h"
#include "core/transform/passes.h"

namespace tenon::transform {

namespace {

/// The value of a constant with one boolean; nothing for other constants.
std::optional<bool> truth_of(const ir::TensorPtr& condition) {
  if (condition == nullptr || condition->type() != ir::ElementType::kBool ||
      condition->element_count() != 1) {
    return std::nullopt;
  }
  return condition->data()[0] != std::byte{0};
}

/// Copies a branch into the outer graph, in place of the If.
class BranchInliner {
 public:
  BranchInliner(ir::Graph& graph, const ir::Node& node, const ir::Graph& body)
      : graph_(graph), prefix_(node.name + "/"), results_(node.outputs), body_(body) {}

  Status run() {
    ASSIGN_OR_RETURN(const std::vector<ir::NodeId> order, body_.topological_order());
    map_.assign(body_.value_limit(), ir::kNone);
    for (const ir::Capture& capture : body_.captures()) map_[capture.inner] = capture.outer;
    map_results();
    for (ir::ValueId id = 0; id < body_.value_limit(); ++id) {
      if (!body_.has_value(id) || map_[id] != ir::kNone) continue;
      const ir::Value& value = body_.value(id);
      map_[id] = value.is_constant() ? graph_.add_constant(prefix_ + value.name, value.constant)
                                     : graph_.add_value(prefix_ + value.name, value.type);
    }
    for (const ir::NodeId id : order) copy(body_.node(id));
    for (const auto& pair : passed_through_) pass_through(map_[pair.first], pair.second);
    return ok_status();
  }

 private:
  /// Maps values that nodes of the branch produce directly to the outputs of the If.
  void map_results() {
    for (size_t i = 0; i < results_.size(); ++i) {
      if (results_[i] == ir::kNone) continue;
      const ir::ValueId inner = body_.outputs()[i];
      if (body_.value(inner).producer != ir::kNone && map_[inner] == ir::kNone) {
        map_[inner] = results_[i];
      } else {
        passed_through_.push_back({inner, results_[i]});
      }
    }
  }

  void copy(const ir::Node& original) {
    ir::Node node = original;
    node.name = prefix_ + original.name;
    for (ir::ValueId& input : node.inputs) {
      if (input != ir::kNone) input = map_[input];
    }
    for (ir::ValueId& output : node.outputs) {
      if (output != ir::kNone) output = map_[output];
    }
    for (ir::Attribute& attribute : node.attributes) {
      for (ir::GraphBox& nested : attribute.graphs) nested->remap_captures(map_);
    }
    graph_.add_node(std::move(node));
  }

  void pass_through(ir::ValueId source, ir::ValueId result) {
    if (forward(graph_, result, source)) return;
    ir::Node identity;
    identity.name = prefix_ + "Identity";
    identity.op_type = "Identity";
    identity.since_version = 1;
    identity.inputs = {source};
    identity.outputs = {result};
    graph_.add_node(std::move(identity));
  }

  ir::Graph& graph_;
  std::string prefix_;
  std::vector<ir::ValueId> results_;
  const ir::Graph& body_;
  std::vector<ir::ValueId> map_;
  std::vector<std::pair<ir::ValueId, ir::ValueId>>
      passed_through_;  // (value of the branch, output of the If)
};

}  // namespace

Result<bool> inline_constant_if(Surroundings&, ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (!node.is("If")) return false;
  const std::optional<bool> condition = truth_of(constant_input(graph, node, 0));
  if (!condition) return false;
  const ir::Attribute* branch = node.find(*condition ? "then_branch" : "else_branch");
  if (branch == nullptr || branch->graphs.empty()) return false;
  const ir::Graph body = *branch->graphs[0];
  if (body.outputs().size() < node.outputs.size()) return false;
  const ir::Node original = node;
  graph.remove_node(id);
  RETURN_IF_ERROR(BranchInliner(graph, original, body).run());
  return true;
}

}  // namespace tenon::transform
