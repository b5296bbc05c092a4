// Bodies of control flow and the nodes that hold them. Internal to core/ops.
#pragma once

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace tenon::ops {

/// com.microsoft's BeamSearch or GreedySearch with a decoder, of one of the forms that the executor runs.
bool is_search(const ir::Node& node);
/// The bodies of If, Loop, Scan and searches take and give as many values as their node asks for; other nodes pass.
/// The node is one that its schema accepts.
Status check_bodies(const ir::Node& node);

}  // namespace tenon::ops
