// The choice among ways to divide a graph, by what a Run costs: select.partition = "cost".
//
// The ways are the answer of the order of preference, each instance first, and the cheapest by the model of costs. A way that was
// measured on this machine counts as measured; where any was, those that were not are left out. While times are recorded
// it is the other way round, so that each is measured in some session.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/partition/partition.h"
#include "host/compile/cost_model.h"
#include "host/compile/times_keys.h"
#include "host/services/blob_cache.h"

namespace tenon::runtime {

/// What the choice asks of its caller.
struct ByCostAsks {
  /// The claims of an instance that is asked alone.
  std::function<Result<std::vector<partition::Claim>>(partition::ProviderIndex)> claims;
  /// The partition in which the instances take the nodes that an assignment gives them; nothing when they do not.
  std::function<Result<std::optional<partition::Partition>>(const Assignment&)> divide;
};

class ByCost {
 public:
  /// `order`: the nodes of `graph`, topological. `threads`: that a Run may use. `cache` may be null: then nothing was measured.
  /// All are borrowed.
  ByCost(const ir::Graph& graph, std::span<const ir::NodeId> order,
         std::span<const std::shared_ptr<Instance>> instances, uint32_t threads, BlobCache* cache);

  /// `recording`: prefer a way that was not measured yet.
  Result<partition::Partition> choose(partition::Partition by_order, bool recording, const ByCostAsks& asks);

 private:
  struct Way {
    std::string name;
    Assignment assignment;
    std::optional<partition::Partition> partition;  // not divided yet
    int64_t estimate_ps = 0, measured_ps = 0;       // 0: none
  };

  Result<std::optional<partition::Partition>> choose_measured(const Way& by_order,
                                                              const ByCostAsks& asks) const;
  Result<std::vector<Way>> ways(Way by_order, const ByCostAsks& asks) const;
  Status add(Way way, const ByCostAsks& asks, std::vector<Way>* ways) const;
  static partition::Partition take(std::vector<Way> ways, size_t chosen);

  const ir::Graph& graph_;
  std::span<const ir::NodeId> order_;
  std::span<const std::shared_ptr<Instance>> instances_;
  uint32_t threads_;
  BlobCache* cache_;
  Timetable known_;  // ways that were measured
};

}  // namespace tenon::runtime
