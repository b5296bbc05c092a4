// Capability: claims the largest groups of known operators that can run as one.
#pragma once

#include "device.h"

namespace accelerator {

void offer(Instance& instance, const tenon_graph* graph, const tenon_claim_sink* sink);

}  // namespace accelerator
