// Views: Reshapes that raising adds where an operator wants other dimensions than the graph has. Internal to
// core/transform/raise.
//
// A view stands before or after a Reshape of the model. When the operator becomes its nodes again, that Reshape takes the
// view's place, so nothing is left of it.
#pragma once

#include <string>
#include <vector>

#include "core/transform/edit.h"

namespace tenon::transform {

/// Names of the views of a node begin with this.
std::string view_prefix(std::string_view node);

/// Whether the node is a Reshape whose result does not depend on how its input is divided into dimensions.
bool takes_any_dims(const ir::Graph& graph, const ir::Node& node);

/// The view of the node named `owner` that gives `value`; kNone when there is none.
ir::NodeId view_of(const ir::Graph& graph, ir::ValueId value, std::string_view owner);

/// Whether all that reads `value` takes it in any dimensions.
bool may_skip_view(const ir::Graph& graph, ir::ValueId value);

}  // namespace tenon::transform
