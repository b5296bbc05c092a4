// Capability: finds the largest groups of nodes that this provider can run, and says why it declines the
// others.
#pragma once

#include "device.h"

namespace tenon::onednn {

void offer(const Instance& instance, const tenon_graph* graph, const tenon_claim_sink* sink);

}  // namespace tenon::onednn
