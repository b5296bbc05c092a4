// Inference of one node in its surroundings, shared by the graph walk and by our own rules. Internal to
// core/ops.
#pragma once

#include "core/ops/types.h"

namespace tenon::ops {

/// Output types of a standard operator's version for a node that behaves like it.
Status infer_as(std::string_view name, int since, const ir::Node& node, const InferInputs& inputs,
                std::vector<ir::Type>& out);

}  // namespace tenon::ops
