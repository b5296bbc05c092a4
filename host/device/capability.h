// Asks an instance which nodes it would run.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/partition/partition.h"
#include "host/device/graph_view.h"
#include "host/device/instance.h"

namespace tenon::runtime {

/// The answer with ids of the graph, as Partitioner::offer takes it.
struct Offer {
  std::vector<partition::Claim> claims;
  std::vector<partition::Rejection> rejections;
};

/// Asks for claims. A node that the provider neither claims nor rejects is returned as a rejection without a
/// reason. Fails when the call fails or the answer names nodes, values or domains that do not exist.
Result<Offer> ask_capability(Instance& instance, const GraphView& view);

}  // namespace tenon::runtime
