// Assigner: what the choice by cost asks of it.
#include "core/base/stop.h"
#include "host/compile/assign.h"
#include "host/compile/by_cost.h"
#include "host/services/thread_pool.h"

namespace tenon::runtime {

using config::PartitionMode;
using partition::ProviderIndex;

/// The graph as the orders of the instances leave it.
class Assigner::Variants {
 public:
  explicit Variants(const Assigner& from) : from_(from), made_(1 + from.build_.selection->instances.size()) {}

  Result<const Variant*> get(std::optional<ProviderIndex> first) {
    Made& made = made_[first.has_value() ? 1 + *first : 0];
    if (made.assigner == nullptr) RETURN_IF_ERROR(make(first, &made));
    return made.can_run ? &made : nullptr;
  }
  static const Assigner& assigner_of(const Variant& variant) {
    return *static_cast<const Made&>(variant).assigner;
  }

 private:
  struct Made : Variant {
    std::unique_ptr<Assigner> assigner;  // null: not made yet
    bool can_run = false;
  };

  Status make(std::optional<ProviderIndex> first, Made* made) {
    made->graph = *from_.graph_;
    made->assigner.reset(new Assigner(from_, &made->graph, first));
    Result<partition::Partition> by_order = made->assigner->run_in_order();
    if (!by_order.ok()) {
      // Another order may fail where the order of preference does not; the choice goes on without it.
      if (!first.has_value() || is_stopped(by_order.error())) return std::move(by_order).error();
      return ok_status();
    }
    made->can_run = true;
    made->name = first.has_value() ? from_.build_.selection->instances[*first]->id() + " first" : "order";
    ASSIGN_OR_RETURN(made->order, made->graph.topological_order());
    made->by_order = std::move(*by_order);
    return ok_status();
  }

  const Assigner& from_;
  std::vector<Made> made_;  // of the order of preference, then by the instance that is asked first
};

Result<std::optional<partition::Partition>> Assigner::by_cost() {
  const config::Select& select = build_.settings->select;
  const bool estimating = select.partition == PartitionMode::kCost;
  // Times are kept of the model's graph as a whole: a Run may repeat a body, or leave it out.
  if (is_body_ && !estimating) return std::optional<partition::Partition>();
  const bool recording = select.record_times && !is_body_;
  auto threads = static_cast<uint32_t>(build_.settings->threads.count);
  if (threads == 0) threads = ThreadPool::process().size();  // as sessions do
  Timetable measured;
  if (!is_body_) {
    if (name_of_graph_.empty()) {
      ASSIGN_OR_RETURN(const std::vector<ir::NodeId> order, graph_->topological_order());
      name_of_graph_ = name_of_graph(*graph_, order);
    }
    measured = Timetable::read(BlobCache::process(), key_of_graph(name_of_graph_, threads));
  }
  if (measured.times().empty() && !recording && !estimating) return std::optional<partition::Partition>();
  if (!build_.selection->unopened.empty()) RETURN_IF_ERROR(build_.open_rest());

  Variants variants(*this);
  ByCostAsks asks;
  asks.variant = [&](std::optional<ProviderIndex> first) { return variants.get(first); };
  asks.claims = [](const Variant& variant, ProviderIndex provider) {
    return Variants::assigner_of(variant).claims_alone(provider);
  };
  asks.divide = [](const Variant& variant, const Assignment& wanted) {
    return Variants::assigner_of(variant).divide(variant.order, wanted);
  };
  const ByCost choice(build_.selection->instances, threads, measured, BlobCache::process());
  std::optional<ByCost::Choice> chosen;
  if (recording) {
    ASSIGN_OR_RETURN(chosen, choice.to_measure(asks));
  } else {
    ASSIGN_OR_RETURN(chosen, choice.fastest_measured(asks));
  }
  if (!chosen.has_value() && estimating) {
    ASSIGN_OR_RETURN(chosen, choice.cheapest(asks));
  }
  if (!chosen.has_value()) return std::optional<partition::Partition>();
  RETURN_IF_ERROR(build_.placement->check(chosen->variant->graph, chosen->partition));
  *graph_ = chosen->variant->graph;
  return std::optional(std::move(chosen->partition));
}

Result<std::vector<partition::Claim>> Assigner::claims_alone(ProviderIndex provider) const {
  partition::Partitioner alone = barred();
  RETURN_IF_ERROR(ask(provider, true, &alone));
  return alone.accepted_of(provider);
}

Result<std::optional<partition::Partition>> Assigner::divide(std::span<const ir::NodeId> order,
                                                             const Assignment& wanted) const {
  const std::vector<std::shared_ptr<Instance>>& instances = build_.selection->instances;
  const auto count = static_cast<ProviderIndex>(instances.size());
  partition::Partitioner partitioner = barred();
  for (size_t at = 0; at < order.size(); ++at) {
    if (wanted[at] == partition::kNoProvider) continue;
    for (ProviderIndex p = 0; p < count; ++p) {
      if (p == wanted[at] || partitioner.taken(p, order[at])) continue;
      partitioner.bar(p, order[at], partition::RejectCode::kDivided,
                      str_cat("select.partition gives the node to ", instances[wanted[at]]->id()));
    }
  }
  bool relaxed = true;
  while (relaxed) {
    for (ProviderIndex p = 0; p < count && !partitioner.open_nodes().empty(); ++p)
      RETURN_IF_ERROR(ask(p, true, &partitioner));
    relaxed = false;
    for (const ir::NodeId id : partitioner.open_nodes()) {
      for (ProviderIndex p = 0; p < count; ++p)
        relaxed |= partitioner.unbar(p, id, partition::RejectCode::kDivided);
    }
    relaxed |= build_.placement->relax(*graph_, partitioner);
  }
  if (!partitioner.open_nodes().empty()) return std::optional<partition::Partition>();
  ASSIGN_OR_RETURN(partition::Partition out, finish(partitioner));
  return std::optional(std::move(out));
}

}  // namespace tenon::runtime
