#include "host/selection/placement.h"

namespace tenon::runtime {
namespace {

std::string rule_text(const config::PlacementRule& rule) {
  return rule.where.empty() ? "a placement rule" : str_cat("the placement rule at ", rule.where);
}

}  // namespace

Placement::Placement(const config::Config& config, const Selection& selection, std::string model)
    : model_(std::move(model)) {
  for (const config::PlacementRule& rule : config.settings().placement) {
    rules_.push_back({rule, {}, "", false});
    for (const provider::PassedOver& each : selection.passed_over) {
      if (config::provider_of(each.provider) == config::provider_of(rule.provider) && each.instead.empty())
        rules_.back().passed_over = each.text();
    }
  }
  extend(selection);
}

void Placement::extend(const Selection& selection) {
  names_.clear();
  for (const auto& instance : selection.instances) names_.push_back(instance->id());
  for (Rule& rule : rules_) {
    rule.allowed.assign(names_.size(), false);
    for (const partition::ProviderIndex i : selection.find(rule.rule.provider)) rule.allowed[i] = true;
  }
}

std::string Placement::nobody(const Rule& rule) const {
  std::string text = str_cat(rule_text(rule.rule), " names provider '", rule.rule.provider,
                             "', which this session does not use: ");
  if (!rule.passed_over.empty()) return text + rule.passed_over;
  std::string used;
  for (const std::string& name : names_) used += (used.empty() ? "" : ", ") + name;
  return str_cat(text, "it uses ", used, "; add the provider to select.order, or remove the rule");
}

std::vector<std::string> Placement::warnings_of_providers() const {
  std::vector<std::string> out;
  for (const Rule& rule : rules_) {
    if (!rule.names_anybody() && speaks_of_this_model(rule)) out.push_back(nobody(rule));
  }
  return out;
}

std::vector<std::string> Placement::warnings() const {
  std::vector<std::string> out = warnings_of_providers();
  for (const Rule& rule : rules_) {
    if (rule.has_matched || !rule.names_anybody() || !speaks_of_this_model(rule)) continue;
    out.push_back(
        str_cat(rule_text(rule.rule),
                " has no effect: no node of the model matches it, or an earlier rule matches those nodes "
                "first; see `tenon explain`, or remove the rule"));
  }
  return out;
}

bool Placement::speaks_of_this_model(const Rule& rule) const {
  return model_.empty() || rule.rule.is_for_model(model_);
}

const Placement::Rule* Placement::rule_for(const ir::Node& node) const {
  for (const Rule& rule : rules_) {
    if (!rule.rule.matches(node.domain, node.op_type, node.name, model_)) continue;
    rule.has_matched = true;
    return &rule;
  }
  return nullptr;
}

void Placement::apply(const ir::Graph& graph, partition::Partitioner& partitioner) const {
  if (rules_.empty()) return;
  for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
    const Rule* rule = graph.has_node(id) ? rule_for(graph.node(id)) : nullptr;
    if (rule == nullptr) continue;
    if (!rule->names_anybody() && !rule->rule.required)
      continue;  // the rule names a provider that this session does not use
    for (uint32_t i = 0; i < names_.size(); ++i) {
      if (rule->allowed[i]) continue;
      partitioner.bar(i, id, partition::RejectCode::kPlacement,
                      str_cat(rule_text(rule->rule), " gives the node to '", rule->rule.provider, "'"));
    }
  }
}

bool Placement::relax(const ir::Graph& graph, partition::Partitioner& partitioner) const {
  bool relaxed = false;
  if (rules_.empty()) return relaxed;
  for (const ir::NodeId id : partitioner.open_nodes()) {
    const Rule* rule = rule_for(graph.node(id));
    if (rule == nullptr || rule->rule.required) continue;
    for (uint32_t i = 0; i < names_.size(); ++i)
      relaxed |= partitioner.unbar(i, id, partition::RejectCode::kPlacement);
  }
  return relaxed;
}

Status Placement::check(const ir::Graph& graph, const partition::Partition& partition) const {
  for (ir::NodeId id = 0; id < graph.node_limit() && !rules_.empty(); ++id) {
    if (!graph.has_node(id) || partition.decisions[id].control_flow) continue;
    const Rule* rule = rule_for(graph.node(id));
    if (rule == nullptr || !rule->rule.required) continue;
    const partition::Decision& decision = partition.decisions[id];
    if (decision.provider < names_.size() && rule->allowed[decision.provider]) continue;
    return not_placed(*rule, graph.node(id), decision.declines);
  }
  return ok_status();
}

Status Placement::check_open(const ir::Graph& graph, const partition::Partitioner& partitioner,
                             const std::function<bool(const ir::Node&)>& can_expand) const {
  if (rules_.empty()) return ok_status();
  for (const ir::NodeId id : partitioner.open_nodes()) {
    const Rule* rule = rule_for(graph.node(id));
    if (rule == nullptr || !rule->rule.required) continue;
    const bool covers_what_is_in_it =
        rule->rule.ops.empty() && rule->rule.matches("", "", graph.node(id).name + "/inner", model_);
    if (covers_what_is_in_it && can_expand && can_expand(graph.node(id))) continue;
    return not_placed(*rule, graph.node(id), partitioner.declines(id));
  }
  return ok_status();
}

Status Placement::not_placed(const Rule& rule, const ir::Node& node,
                             const std::vector<partition::Decline>& declines) const {
  std::string why;
  for (const partition::Decline& decline : declines) {
    if (decline.provider < names_.size() && rule.allowed[decline.provider]) why = decline.text;
  }
  if (why.empty()) why = "it is not among the providers of this session; name it in select.order";
  return unsupported(rule_text(rule.rule), " requires provider '", rule.rule.provider,
                     "', which does not run the node: ", why)
      .with_context(node.label());
}

}  // namespace tenon::runtime
