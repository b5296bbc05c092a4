#include "host/compile/by_cost.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace tenon::runtime {

using partition::ProviderIndex;

ByCost::ByCost(std::span<const std::shared_ptr<Instance>> instances, uint32_t threads,
               const Timetable& measured, BlobCache* cache)
    : instances_(instances),
      threads_(threads),
      measured_(measured),
      cache_(cache),
      name_of_instances_(name_of_instances(instances)) {}

Result<std::optional<ByCost::Choice>> ByCost::fastest_measured(const ByCostAsks& asks) const {
  std::vector<Way> all = measured_ways();
  std::deque<Way> variants;  // those that were made so far, as their orders divide them
  const std::vector<First> firsts = all_firsts();
  size_t next = 0;
  const auto find_variant = [&](const std::string& graph) -> Result<const Way*> {
    for (const Way& variant : variants) {
      if (variant.graph == graph) return &variant;
    }
    while (next < firsts.size()) {
      ASSIGN_OR_RETURN(std::optional<Way> variant, ordered(firsts[next++], asks));
      if (!variant.has_value()) continue;
      variants.push_back(std::move(*variant));
      if (variants.back().graph == graph) return &variants.back();
    }
    return static_cast<const Way*>(nullptr);
  };
  for (size_t i = 0; i < all.size(); ++i) {
    ASSIGN_OR_RETURN(const Way* of_variant, find_variant(all[i].graph));
    if (of_variant == nullptr) continue;
    ASSIGN_OR_RETURN(const bool accepted, divide(*of_variant, asks, &all[i]));
    if (accepted) return std::optional(take(std::move(all), i));
  }
  return std::optional<Choice>();
}

/// The ways of these instances that were measured, the fastest first.
std::vector<ByCost::Way> ByCost::measured_ways() const {
  std::vector<Way> all;
  for (const auto& [text, ps] : measured_.times()) {
    std::optional<WayName> name = WayName::parse(text);
    if (!name.has_value() || name->instances != name_of_instances_) continue;
    const auto known = [&](ProviderIndex p) { return p == partition::kNoProvider || p < instances_.size(); };
    if (!std::all_of(name->assignment.begin(), name->assignment.end(), known)) continue;
    all.emplace_back();
    all.back().name = "measured";
    all.back().graph = std::move(name->graph);
    all.back().assignment = std::move(name->assignment);
    all.back().measured_ps = ps;
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Way& a, const Way& b) { return a.measured_ps < b.measured_ps; });
  return all;
}

/// Divides the graph of a variant as `way` says. False when the instances do not take what it gives them.
Result<bool> ByCost::divide(const Way& of_variant, const ByCostAsks& asks, Way* way) const {
  way->variant = of_variant.variant;
  if (of_variant.is_as(*way)) {
    way->name = of_variant.name;
    way->partition = of_variant.partition;
    return true;
  }
  const Variant& variant = *of_variant.variant;
  if (way->assignment.size() != variant.order.size()) return false;
  ASSIGN_OR_RETURN(way->partition, asks.divide(variant, way->assignment));
  return way->partition.has_value() && assignment_of(*way->partition, variant.order) == way->assignment;
}

Result<ByCost::Choice> ByCost::cheapest(const ByCostAsks& asks) const {
  std::vector<Way> all;
  RETURN_IF_ERROR(add_ordered(std::nullopt, asks, &all));
  RETURN_IF_ERROR(add_cheapest(std::nullopt, asks, &all));
  const auto least = std::min_element(
      all.begin(), all.end(), [](const Way& a, const Way& b) { return a.estimate_ps < b.estimate_ps; });
  const auto chosen = static_cast<size_t>(least - all.begin());
  return take(std::move(all), chosen);
}

Result<ByCost::Choice> ByCost::to_measure(const ByCostAsks& asks) const {
  std::vector<Way> all;
  const std::vector<First> firsts = all_firsts();
  for (const First first : firsts) RETURN_IF_ERROR(add_ordered(first, asks, &all));
  for (const First first : firsts) RETURN_IF_ERROR(add_cheapest(first, asks, &all));
  // What was not measured has 0.
  const auto least = std::min_element(
      all.begin(), all.end(), [](const Way& a, const Way& b) { return a.measured_ps < b.measured_ps; });
  const auto chosen = static_cast<size_t>(least - all.begin());
  return take(std::move(all), chosen);
}

std::vector<ByCost::First> ByCost::all_firsts() const {
  std::vector<First> out{std::nullopt};
  for (ProviderIndex p = 0; p < instances_.size(); ++p) out.emplace_back(p);
  return out;
}

/// A variant, divided as its order says. Nothing when that order cannot run the graph.
Result<std::optional<ByCost::Way>> ByCost::ordered(First first, const ByCostAsks& asks) const {
  ASSIGN_OR_RETURN(const Variant* variant, asks.variant(first));
  if (variant == nullptr) return std::optional<Way>();
  Way out;
  out.name = variant->name;
  out.variant = variant;
  out.graph = name_of_graph(variant->graph, variant->order);
  out.assignment = assignment_of(variant->by_order, variant->order);
  out.partition = variant->by_order;
  return std::optional(std::move(out));
}

/// What nodes and moves of a variant's graph cost.
Result<partition::CostProblem> ByCost::problem_of(const Variant& variant, const ByCostAsks& asks) const {
  std::vector<CostedInstance> costed(instances_.size());
  for (size_t p = 0; p < costed.size(); ++p) {
    ASSIGN_OR_RETURN(costed[p].claims, asks.claims(variant, static_cast<ProviderIndex>(p)));
    const auto in_host_memory = [](const partition::Claim& claim) {
      return claim.input_domain == TENON_DOMAIN_HOST && claim.output_domain == TENON_DOMAIN_HOST;
    };
    costed[p].in_host_memory = std::all_of(costed[p].claims.begin(), costed[p].claims.end(), in_host_memory);
    costed[p].roofline = roofline_of(*instances_[p], costed[p].in_host_memory, threads_);
    costed[p].measured = Timetable::read(cache_, key_of_instance(*instances_[p], threads_));
  }
  return cost_problem(variant.graph, variant.order, costed, assignment_of(variant.by_order, variant.order));
}

Status ByCost::add_ordered(First first, const ByCostAsks& asks, std::vector<Way>* ways) const {
  ASSIGN_OR_RETURN(std::optional<Way> way, ordered(first, asks));
  if (!way.has_value()) return ok_status();
  ASSIGN_OR_RETURN(const partition::CostProblem problem, problem_of(*way->variant, asks));
  add(std::move(*way), problem, ways);
  return ok_status();
}

Status ByCost::add_cheapest(First first, const ByCostAsks& asks, std::vector<Way>* ways) const {
  ASSIGN_OR_RETURN(const std::optional<Way> by_order, ordered(first, asks));
  if (!by_order.has_value()) return ok_status();
  const Variant& variant = *by_order->variant;
  ASSIGN_OR_RETURN(const partition::CostProblem problem, problem_of(variant, asks));
  const std::vector<uint32_t> best = partition::cheapest(problem, to_labels(by_order->assignment, problem));
  Way way = *by_order;
  way.assignment = from_labels(best, variant.order.size(), problem);
  if (way.is_as(*by_order)) return ok_status();
  // The instances may refuse some of the nodes that they would run if others were theirs too.
  ASSIGN_OR_RETURN(way.partition, asks.divide(variant, way.assignment));
  if (!way.partition.has_value()) return ok_status();
  way.assignment = assignment_of(*way.partition, variant.order);
  way.name = first.has_value() ? str_cat("cheapest with ", variant.name) : std::string("cheapest");
  add(std::move(way), problem, ways);
  return ok_status();
}

/// Adds the way, with what is known of it, unless it is there.
void ByCost::add(Way way, const partition::CostProblem& problem, std::vector<Way>* ways) const {
  const auto is_as = [&](const Way& other) { return other.is_as(way); };
  if (std::any_of(ways->begin(), ways->end(), is_as)) return;
  way.estimate_ps = partition::cost_of(problem, to_labels(way.assignment, problem));
  const int64_t* ps = measured_.find(WayName{name_of_instances_, way.graph, way.assignment}.text());
  if (ps != nullptr) way.measured_ps = *ps;
  ways->push_back(std::move(way));
}

ByCost::Choice ByCost::take(std::vector<Way> ways, size_t chosen) {
  Choice out{ways[chosen].variant, std::move(*ways[chosen].partition)};
  out.partition.candidates.clear();
  for (size_t i = 0; i < ways.size(); ++i)
    out.partition.candidates.push_back({ways[i].name, ways[i].estimate_ps, ways[i].measured_ps, i == chosen});
  return out;
}

}  // namespace tenon::runtime
