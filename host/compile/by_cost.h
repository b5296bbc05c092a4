// The choice among ways to divide a graph, by what a Run costs: select.partition.
//
// Core expands nodes, and puts raised ones back, for the provider that it asks first. So each order of the instances leaves a graph of
// its own, a variant. The ways of a variant are the answer of its order, and the cheapest division of its graph by the model of
// costs. A way that was measured on this machine counts as measured; where any was, those that were not are left out. While times
// are recorded it is the other way round, so that each is measured in some session.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/partition/partition.h"
#include "host/compile/cost_model.h"
#include "host/compile/times_keys.h"
#include "host/services/blob_cache.h"

namespace tenon::runtime {

/// What one order of the instances makes of the model's graph.
struct Variant {
  std::string name;  // "order", "onednn/cpu:0 first"
  ir::Graph graph;
  std::vector<ir::NodeId> order;  // the nodes of `graph`, topological
  partition::Partition by_order;  // the answer of this order
};

/// What the choice asks of its caller. A variant is made when it is asked for.
struct ByCostAsks {
  /// The variant for which instance `first` is asked first, for all that it can run, then the others in their order; without one, that of
  /// the order of preference. Null when the providers cannot run the graph in this way. Valid as long as the asks.
  std::function<Result<const Variant*>(std::optional<partition::ProviderIndex> first)> variant;
  /// All that an instance can run if it is asked alone about the graph of a variant.
  std::function<Result<std::vector<partition::Claim>>(const Variant&, partition::ProviderIndex)> claims;
  /// The partition of a variant's graph in which the instances take the nodes that an assignment gives them; nothing when they do not.
  std::function<Result<std::optional<partition::Partition>>(const Variant&, const Assignment&)> divide;
};

class ByCost {
 public:
  struct Choice {
    const Variant* variant = nullptr;
    partition::Partition partition;
  };

  /// `measured`: ways of the model's graph that were, by name. `threads`: that a Run may use. `cache`: for the times of nodes; may be
  /// null. All are borrowed.
  ByCost(std::span<const std::shared_ptr<Instance>> instances, uint32_t threads, const Timetable& measured,
         BlobCache* cache);

  /// The fastest of the measured ways that the instances still accept. Nothing when there is none.
  Result<std::optional<Choice>> fastest_measured(const ByCostAsks& asks) const;
  /// The cheapest way of the variant of the order, by estimates. The order must be able to run the graph.
  Result<Choice> cheapest(const ByCostAsks& asks) const;
  /// A way that was not measured yet, of any variant; when all were, the fastest. The order must be able to run the graph.
  Result<Choice> to_measure(const ByCostAsks& asks) const;

 private:
  struct Way {
    std::string name;
    const Variant* variant = nullptr;
    std::string graph;  // name_of_graph() of the variant's
    Assignment assignment;
    std::optional<partition::Partition> partition;  // not divided yet
    int64_t estimate_ps = 0, measured_ps = 0;       // 0: none

    bool is_as(const Way& other) const { return graph == other.graph && assignment == other.assignment; }
  };
  using First = std::optional<partition::ProviderIndex>;

  /// None, for the order of preference, and each instance.
  std::vector<First> all_firsts() const;
  Result<std::optional<Way>> ordered(First first, const ByCostAsks& asks) const;
  Result<bool> divide(const Way& of_variant, const ByCostAsks& asks, Way* way) const;
  std::vector<Way> measured_ways() const;
  Result<partition::CostProblem> problem_of(const Variant& variant, const ByCostAsks& asks) const;
  Status add_ordered(First first, const ByCostAsks& asks, std::vector<Way>* ways) const;
  Status add_cheapest(First first, const ByCostAsks& asks, std::vector<Way>* ways) const;
  void add(Way way, const partition::CostProblem& problem, std::vector<Way>* ways) const;
  static Choice take(std::vector<Way> ways, size_t chosen);

  std::span<const std::shared_ptr<Instance>> instances_;
  uint32_t threads_;
  const Timetable& measured_;
  BlobCache* cache_;
  std::string name_of_instances_;
};

}  // namespace tenon::runtime
