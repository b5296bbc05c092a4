// Names of a graph's values in error messages.
#pragma once

#include <string>

#include "host/exec/plan.h"

namespace tenon::runtime {

/// "value 'y' of node 'tile' (Tile)".
std::string label_of_value(const ir::Graph& graph, ir::ValueId value);
/// Names the largest value in the slabs of the host (or, without `of_host`, of devices). It is the likely cause when
/// a plan does not fit into memory.
std::string label_of_largest(const ir::Graph& graph, const Plan& plan, bool of_host);

}  // namespace tenon::runtime
