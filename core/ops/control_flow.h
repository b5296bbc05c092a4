// Bodies of control flow and the nodes that hold them. Internal to core/ops.
#pragma once

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace tenon::ops {

/// The bodies of If, Loop and Scan take and give as many values as their node asks for; other nodes pass. The
/// node is one that its schema accepts.
Status check_bodies(const ir::Node& node);

}  // namespace tenon::ops
