// How errors name what is in a graph.
#pragma once

#include <string>

#include "host/exec/plan.h"

namespace tenon::runtime {

/// "value 'y' of node 'tile' (Tile)".
std::string label_of_value(const ir::Graph& graph, ir::ValueId value);
/// The largest value in slabs of the host, or of devices: the likely cause when a plan does not fit.
std::string label_of_largest(const ir::Graph& graph, const Plan& plan, bool of_host);

}  // namespace tenon::runtime
