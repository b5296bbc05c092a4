// Nodes that a provider declines only for a float type it lacks, given to it in one that it has, where the
// config allows that: float16 as float32 (`precision.widen`), float32 as float16 (`precision.default =
// "fp16"`).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/partition/partition.h"
#include "core/transform/transform.h"
#include "host/config/config.h"
#include "host/device/capability.h"

namespace tenon::runtime {

class TypeCaster {
 public:
  /// What the provider would say to a graph.
  using Ask = std::function<Result<Offer>(const ir::Graph& trial)>;

  /// `opset_imports` is borrowed.
  TypeCaster(const config::Settings& settings, const std::map<std::string, int64_t>& opset_imports);

  /// After `provider` answered: tries its declined nodes in the other type, on a copy, and changes those in
  /// `graph` that it would take then. True when it changed something: all must be asked again. Each node is
  /// tried once per provider.
  Result<bool> cast(ir::Graph* graph, partition::ProviderIndex provider,
                    const partition::Partitioner& partitioner, const Ask& ask);

 private:
  std::vector<ir::NodeId> candidates(const ir::Graph& graph, partition::ProviderIndex provider,
                                     const partition::Partitioner& partitioner,
                                     const transform::FloatCast& cast);

  const std::map<std::string, int64_t>& opset_imports_;
  std::vector<transform::FloatCast> allowed_;
  transform::Converted converted_;
  std::set<std::pair<partition::ProviderIndex, ir::NodeId>> tried_;
};

}  // namespace tenon::runtime
