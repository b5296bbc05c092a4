#include "host/compile/by_cost.h"

#include <algorithm>
#include <utility>

namespace tenon::runtime {

using partition::Partition;
using partition::ProviderIndex;

ByCost::ByCost(const ir::Graph& graph, std::span<const ir::NodeId> order,
               std::span<const std::shared_ptr<Instance>> instances, uint32_t threads, BlobCache* cache)
    : graph_(graph),
      order_(order),
      instances_(instances),
      threads_(threads),
      cache_(cache),
      known_(Timetable::read(cache, key_of_graph(name_of_graph(graph, order), instances, threads))) {}

Result<Partition> ByCost::choose(Partition by_order, bool recording, const ByCostAsks& asks) {
  Way first;
  first.name = "order";
  first.assignment = assignment_of(by_order, order_);
  first.partition = std::move(by_order);
  if (!recording) {
    ASSIGN_OR_RETURN(std::optional<Partition> measured, choose_measured(first, asks));
    if (measured.has_value()) return std::move(*measured);
  }
  ASSIGN_OR_RETURN(std::vector<Way> all, ways(std::move(first), asks));
  const auto is_measured = [](const Way& way) { return way.measured_ps != 0; };
  size_t chosen = 0;
  if (recording && !std::all_of(all.begin(), all.end(), is_measured)) {
    while (is_measured(all[chosen])) ++chosen;
  } else {
    // Without recording none of them was measured, or measured ones cannot be made any more.
    const auto cost = [&](const Way& way) { return recording ? way.measured_ps : way.estimate_ps; };
    for (size_t i = 1; i < all.size(); ++i) {
      if (cost(all[i]) < cost(all[chosen])) chosen = i;
    }
  }
  return take(std::move(all), chosen);
}

/// The fastest of the measured ways that the instances still accept.
Result<std::optional<Partition>> ByCost::choose_measured(const Way& by_order, const ByCostAsks& asks) const {
  std::vector<Way> all;
  for (const auto& [name, ps] : known_.times()) {
    Way way;
    way.assignment = assignment_of(name, order_.size(), instances_.size());
    if (way.assignment.empty()) continue;
    const bool is_order = way.assignment == by_order.assignment;
    if (is_order) way = by_order;
    if (!is_order) way.name = "measured";
    way.measured_ps = ps;
    all.push_back(std::move(way));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Way& a, const Way& b) { return a.measured_ps < b.measured_ps; });
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].partition.has_value()) {
      ASSIGN_OR_RETURN(all[i].partition, asks.divide(all[i].assignment));
      if (!all[i].partition.has_value() || assignment_of(*all[i].partition, order_) != all[i].assignment)
        continue;
    }
    return std::optional(take(std::move(all), i));
  }
  return std::optional<Partition>();
}

Result<std::vector<ByCost::Way>> ByCost::ways(Way by_order, const ByCostAsks& asks) const {
  std::vector<CostedInstance> costed(instances_.size());
  for (size_t p = 0; p < costed.size(); ++p) {
    ASSIGN_OR_RETURN(costed[p].claims, asks.claims(static_cast<ProviderIndex>(p)));
    const auto in_host_memory = [](const partition::Claim& claim) {
      return claim.input_domain == TENON_DOMAIN_HOST && claim.output_domain == TENON_DOMAIN_HOST;
    };
    costed[p].in_host_memory = std::all_of(costed[p].claims.begin(), costed[p].claims.end(), in_host_memory);
    costed[p].roofline = roofline_of(*instances_[p], costed[p].in_host_memory, threads_);
    costed[p].measured = Timetable::read(cache_, key_of_instance(*instances_[p], threads_));
  }
  const partition::CostProblem problem = cost_problem(graph_, order_, costed, by_order.assignment);

  std::vector<Way> all;
  const Assignment ordered = by_order.assignment;
  RETURN_IF_ERROR(add(std::move(by_order), asks, &all));
  for (size_t p = 0; p < costed.size(); ++p) {
    Way way{instances_[p]->id() + " first", ordered, {}};
    for (size_t at = 0; at < order_.size(); ++at) {
      if (problem.time(static_cast<uint32_t>(at), static_cast<uint32_t>(p)) !=
          partition::CostProblem::kCannotRun)
        way.assignment[at] = static_cast<ProviderIndex>(p);
    }
    RETURN_IF_ERROR(add(std::move(way), asks, &all));
  }
  const std::vector<uint32_t> cheapest = partition::cheapest(problem, to_labels(ordered, problem));
  RETURN_IF_ERROR(add({"cheapest", from_labels(cheapest, order_.size(), problem), {}}, asks, &all));
  for (Way& way : all) way.estimate_ps = partition::cost_of(problem, to_labels(way.assignment, problem));
  return all;
}

/// Adds the way as the instances accept it, unless it is there. They may refuse some of the nodes that they would run if others
/// were theirs too.
Status ByCost::add(Way way, const ByCostAsks& asks, std::vector<Way>* ways) const {
  const auto is_known = [&] {
    return std::any_of(ways->begin(), ways->end(),
                       [&](const Way& other) { return other.assignment == way.assignment; });
  };
  if (is_known()) return ok_status();
  if (!way.partition.has_value()) {
    ASSIGN_OR_RETURN(way.partition, asks.divide(way.assignment));
    if (!way.partition.has_value()) return ok_status();
    way.assignment = assignment_of(*way.partition, order_);
    if (is_known()) return ok_status();
  }
  if (const int64_t* ps = known_.find(name_of(way.assignment))) way.measured_ps = *ps;
  ways->push_back(std::move(way));
  return ok_status();
}

Partition ByCost::take(std::vector<Way> ways, size_t chosen) {
  Partition out = std::move(*ways[chosen].partition);
  for (size_t i = 0; i < ways.size(); ++i)
    out.candidates.push_back({ways[i].name, ways[i].estimate_ps, ways[i].measured_ps, i == chosen});
  return out;
}

}  // namespace tenon::runtime
