// Checks of control-flow nodes and their bodies. Internal to core/ops.
#pragma once

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace tenon::ops {

/// A BeamSearch or GreedySearch of com.microsoft with a decoder, in a form that the executor runs.
bool is_search(const ir::Node& node);
/// Checks that the bodies of If, Loop, Scan and searches have the inputs and outputs that their node requires.
/// Other nodes pass. The node must fit its schema.
Status check_bodies(const ir::Node& node);

}  // namespace tenon::ops
