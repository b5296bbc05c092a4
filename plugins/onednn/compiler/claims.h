// Capability: finds the largest groups of nodes that can run here, and says why the others cannot.
#pragma once

#include "device.h"

namespace tenon::onednn {

void offer(const Instance& instance, const tenon_graph* graph, const tenon_claim_sink* sink);

}  // namespace tenon::onednn
