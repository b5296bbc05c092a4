// Assigner: what the choice by cost asks of it.
#include "core/ops/ops.h"
#include "host/compile/assign.h"
#include "host/compile/by_cost.h"
#include "host/services/thread_pool.h"

namespace tenon::runtime {

using partition::ProviderIndex;

Result<partition::Partition> Assigner::by_cost(partition::Partition by_order) const {
  const std::vector<std::shared_ptr<Instance>>& instances = build_.selection->instances;
  ASSIGN_OR_RETURN(const std::vector<ir::NodeId> order, graph_->topological_order());
  auto threads = static_cast<uint32_t>(build_.settings->threads.count);
  if (threads == 0) threads = ThreadPool::process().size();  // as sessions do
  ByCost choice(*graph_, order, instances, threads, BlobCache::process());
  ByCostAsks asks;
  asks.claims = [&](ProviderIndex provider) { return claims_alone(provider); };
  asks.divide = [&](const Assignment& wanted) { return divide(order, wanted); };
  return choice.choose(std::move(by_order), build_.settings->select.record_times, asks);
}

Result<std::vector<partition::Claim>> Assigner::claims_alone(ProviderIndex provider) const {
  partition::Partitioner alone = barred();
  RETURN_IF_ERROR(ask(provider, &alone));
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
                      str_cat("select.partition = \"cost\" gives the node to ", instances[wanted[at]]->id()));
    }
  }
  bool relaxed = true;
  while (relaxed) {
    for (ProviderIndex p = 0; p < count && !partitioner.open_nodes().empty(); ++p)
      RETURN_IF_ERROR(ask(p, &partitioner));
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
