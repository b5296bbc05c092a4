// Casts nodes that a provider declines because of a float type to another float type, where the config allows it:
// float16 to float32 (`precision.widen`), float32 to float16 (`precision.default = "fp16"`).
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
  /// Asks the provider about a graph.
  using Ask = std::function<Result<Offer>(const ir::Graph& trial)>;

  /// `opset_imports` is borrowed.
  TypeCaster(const config::Settings& settings, const std::map<std::string, int64_t>& opset_imports);

  /// After `provider` answered: tries its declined nodes in the other type on a copy, and changes those in `graph` that
  /// it then claims. True when `graph` was changed: then ask all again. Each node is tried once per provider.
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
