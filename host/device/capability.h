// Asking an instance what it would run.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/partition/partition.h"
#include "host/device/graph_view.h"
#include "host/device/instance.h"

namespace tenon::runtime {

/// An answer in ids of the graph, as Partitioner::offer takes it.
struct Offer {
  std::vector<partition::Claim> claims;
  std::vector<partition::Rejection> rejections;
};

/// Nodes of the view that the provider neither claims nor rejects come back as rejections without a reason of
/// its own. Fails when the call fails, or the answer names nodes, values or domains that do not exist.
Result<Offer> ask_capability(Instance& instance, const GraphView& view);

}  // namespace tenon::runtime
