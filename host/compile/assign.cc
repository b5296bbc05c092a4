#include "host/compile/assign.h"

#include <algorithm>

#include "core/base/stop.h"
#include "core/ops/ops.h"
#include "host/device/capability.h"
#include "host/device/graph_view.h"

namespace tenon::runtime {
namespace {

/// Nodes that `provider` asks to expand.
std::vector<ir::NodeId> to_inline(const partition::Partitioner& partitioner,
                                  partition::ProviderIndex provider) {
  std::vector<ir::NodeId> nodes;
  for (ir::NodeId id : partitioner.open_nodes()) {
    const std::vector<partition::Decline>& declines = partitioner.declines(id);
    const bool wanted = std::any_of(declines.begin(), declines.end(), [&](const partition::Decline& decline) {
      return decline.provider == provider && decline.code == partition::RejectCode::kInline;
    });
    if (wanted) nodes.push_back(id);
  }
  return nodes;
}

/// True when the provider itself declined: not a placement rule, and not a request to expand the node.
bool is_own_reason(partition::RejectCode code) {
  return code != partition::RejectCode::kPlacement && code != partition::RejectCode::kInline;
}

}  // namespace

Assigner::Assigner(const BuildInputs& build, ir::Graph* graph, bool is_body)
    : build_(build),
      graph_(graph),
      is_body_(is_body),
      expander_(*build.model, build.transforms, build.node_limit),
      caster_(*build.settings, build.model->opset_imports) {}

Assigner::Assigner(const Assigner& other, ir::Graph* graph, std::optional<partition::ProviderIndex> first)
    : build_(other.build_),
      graph_(graph),
      is_body_(other.is_body_),
      expander_(*build_.model, build_.transforms, build_.node_limit),
      caster_(*build_.settings, build_.model->opset_imports),
      first_(first),
      failures_(other.failures_) {}

Result<partition::Partition> Assigner::run() {
  if (build_.settings->select.partition != config::PartitionMode::kOrder) {
    ASSIGN_OR_RETURN(std::optional<partition::Partition> taken, by_cost());
    if (taken.has_value()) return std::move(*taken);
  }
  return run_in_order();
}

Result<partition::Partition> Assigner::run_in_order() {
  for (;;) {
    partition::Partitioner partitioner = barred();
    ASSIGN_OR_RETURN(const bool again, ask_all(&partitioner));
    if (again) continue;
    Result<partition::Partition> partition = finish(partitioner);
    if (!partition.ok()) {
      const std::vector<ir::NodeId> open = partitioner.open_nodes();
      const std::string why = open.empty() ? std::string() : expander_.why_not(open.front());
      Status nobody = std::move(partition).error();
      if (!why.empty())
        nobody = std::move(nobody).with_note("; it cannot be expanded to other operators: " + why);
      if (!open.empty() && is_foreign(graph_->node(open.front())))
        nobody =
            std::move(nobody).with_note("; an application can run it itself, see operators_add in tenon.h");
      return with_passed_over(std::move(nobody));
    }
    RETURN_IF_ERROR(build_.placement->check(*graph_, *partition));
    return partition;
  }
}

/// An operator that neither ONNX nor this build nor the application defines.
bool Assigner::is_foreign(const ir::Node& node) const {
  const std::vector<std::shared_ptr<Instance>>& instances = build_.selection->instances;
  const bool is_registering = std::any_of(instances.begin(), instances.end(), [](const auto& instance) {
    return instance->device().provider()->is_built_in();
  });
  return node.since_version == 0 && !is_registering && !expander_.is_call(node);
}

/// Adds the providers that were passed over: one of them may be able to run the node.
Status Assigner::with_passed_over(Status nobody) const {
  std::string note;
  for (const provider::PassedOver& each : build_.selection->passed_over) note += "; " + each.text();
  return std::move(nobody).with_note(note);
}

partition::Partitioner Assigner::barred() const {
  partition::Partitioner out(*graph_, [](const ir::Node& node) { return ops::is_control_flow(node); });
  for (const CompileFailure& failure : failures_) {
    for (ir::NodeId id : failure.nodes) {
      out.bar(failure.provider, id, partition::RejectCode::kCompileFailed, failure.text);
    }
  }
  build_.placement->apply(*graph_, out);
  return out;
}

Result<partition::Partition> Assigner::finish(const partition::Partitioner& partitioner) const {
  return partitioner.finish([&](partition::ProviderIndex p) { return build_.selection->instances[p]->id(); });
}

Result<bool> Assigner::ask_all(partition::Partitioner* partitioner) {
  // A second round serves the nodes that a placement rule gave to a provider that then declined them.
  do {
    ASSIGN_OR_RETURN(const bool again, ask_in_order(partitioner));
    if (again) return true;
  } while (build_.placement->relax(*graph_, *partitioner));
  const std::vector<ir::NodeId> left = partitioner->open_nodes();
  if (left.empty()) return false;
  if (!build_.selection->unopened.empty()) {
    RETURN_IF_ERROR(build_.open_rest());
    return true;
  }
  RETURN_IF_ERROR(check_stop("nodes without a provider were expanded"));
  RETURN_IF_ERROR(build_.placement->check_open(
      *graph_, *partitioner, [&](const ir::Node& node) { return expander_.can_expand(node); }));
  ASSIGN_OR_RETURN(const size_t expanded, expander_.expand(graph_, left));
  return expanded != 0;
}

Result<bool> Assigner::ask_in_order(partition::Partitioner* partitioner) {
  const auto count = static_cast<partition::ProviderIndex>(build_.selection->instances.size());
  for (partition::ProviderIndex at = 0; at < count && !partitioner->open_nodes().empty(); ++at) {
    partition::ProviderIndex p = at;
    if (first_.has_value() && at <= *first_) p = at == 0 ? *first_ : at - 1;
    RETURN_IF_ERROR(ask(p, first_ == p, partitioner));
    ASSIGN_OR_RETURN(const size_t inlined, expander_.expand(graph_, to_inline(*partitioner, p)));
    if (inlined != 0) return true;
    ASSIGN_OR_RETURN(const bool lowered, put_back(p, *partitioner));
    if (lowered) return true;
    ASSIGN_OR_RETURN(const bool cast, caster_.cast(graph_, p, *partitioner, [&](const ir::Graph& trial) {
      return ask_about(trial, p, first_ == p, [&](ir::NodeId id) { return partitioner->taken(p, id); });
    }));
    if (cast) return true;
    // A provider inside the library runs only what it was made for.
    if (build_.settings->select.on_declined == config::OnFailure::kError &&
        !build_.selection->instances[p]->device().provider()->is_built_in()) {
      RETURN_IF_ERROR(check_declined(p, *partitioner));
    }
  }
  return false;
}

Status Assigner::ask(partition::ProviderIndex provider, bool weighed,
                     partition::Partitioner* partitioner) const {
  RETURN_IF_ERROR(check_stop("providers were asked what they run"));
  Result<Offer> offer =
      ask_about(*graph_, provider, weighed, [&](ir::NodeId id) { return partitioner->taken(provider, id); });
  if (!offer.ok()) return unusable(provider, std::move(offer).error(), partitioner);
  return partitioner->offer(provider, std::move(offer->claims), std::move(offer->rejections));
}

Result<Offer> Assigner::ask_about(const ir::Graph& graph, partition::ProviderIndex provider, bool weighed,
                                  const std::function<bool(ir::NodeId)>& is_taken) const {
  GraphSource source;
  source.graph = &graph;
  source.opset_imports = &build_.model->opset_imports;
  source.constants = build_.shared->constants.get();
  source.is_function = [&](const ir::Node& node) { return expander_.can_expand(node); };
  source.is_control_flow = [](const ir::Node& node) { return ops::is_control_flow(node); };
  source.is_body = is_body_;
  source.is_weighed = weighed;
  // `graph` may have nodes that the partitioner's graph does not have.
  ASSIGN_OR_RETURN(const GraphView view, GraphView::whole(source, [&](ir::NodeId id) {
                     return graph_->has_node(id) && is_taken(id);
                   }));
  return ask_capability(*build_.selection->instances[provider], view);
}

Result<bool> Assigner::put_back(partition::ProviderIndex provider,
                                const partition::Partitioner& partitioner) {
  std::vector<ir::NodeId> wanted;
  for (const ir::NodeId id : partitioner.open_nodes()) {
    if (graph_->node(id).parts == nullptr) continue;
    const std::vector<partition::Decline>& declines = partitioner.declines(id);
    const bool declined =
        std::any_of(declines.begin(), declines.end(), [&](const partition::Decline& decline) {
          return decline.provider == provider && is_own_reason(decline.code);
        });
    if (declined && put_back_tried_.emplace(provider, id).second) wanted.push_back(id);
  }
  if (wanted.empty()) return false;
  ir::Graph trial = *graph_;
  std::vector<std::vector<ir::NodeId>> parts;
  for (const ir::NodeId id : wanted) parts.push_back(transform::put_back(trial, id));
  // Its own claims do not count: what it takes depends on what is around.
  ASSIGN_OR_RETURN(const Offer offer, ask_about(trial, provider, first_ == provider, [&](ir::NodeId id) {
                     return partitioner.taken_by_others(provider, id);
                   }));
  std::set<ir::NodeId> claimed;
  for (const partition::Claim& claim : offer.claims) claimed.insert(claim.nodes.begin(), claim.nodes.end());
  std::vector<ir::NodeId> better;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::all_of(parts[i].begin(), parts[i].end(), [&](ir::NodeId id) { return claimed.count(id) != 0; }))
      better.push_back(wanted[i]);
  }
  if (better.empty()) return false;
  RETURN_IF_ERROR(expander_.put_back(graph_, better));
  return true;
}

Status Assigner::unusable(partition::ProviderIndex provider, Status failure,
                          partition::Partitioner* partitioner) const {
  const config::Select& select = build_.settings->select;
  if (is_stopped(failure)) return failure;
  if (!select.automatic && select.fallback == config::OnFailure::kError) return failure;
  for (ir::NodeId id : partitioner->open_nodes()) {
    partitioner->bar(provider, id, partition::RejectCode::kUnusable, failure.to_string());
  }
  return ok_status();
}

Status Assigner::check_declined(partition::ProviderIndex provider,
                                const partition::Partitioner& partitioner) const {
  for (ir::NodeId id : partitioner.open_nodes()) {
    for (const partition::Decline& decline : partitioner.declines(id)) {
      if (decline.provider != provider || !is_own_reason(decline.code)) continue;
      if (expander_.is_call(graph_->node(id))) continue;
      return unsupported(build_.selection->instances[provider]->id(), " declines the node (",
                         partition::reject_code_name(decline.code), "): ", decline.text,
                         "; select.on_declined = \"next\" would ask the next provider")
          .with_context(graph_->node(id).label());
    }
  }
  return ok_status();
}

}  // namespace tenon::runtime
