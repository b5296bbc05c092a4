// Capability: the largest groups of nodes that this provider runs, and why it declines the others.
#pragma once

#include "device.h"

namespace tenon::onednn {

void offer(const Instance& instance, const tenon_graph* graph, const tenon_claim_sink* sink);

}  // namespace tenon::onednn
