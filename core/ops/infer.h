// Inference of one node, used by the graph walk and by our own rules. Internal to core/ops.
#pragma once

#include "core/ops/types.h"

namespace tenon::ops {

/// Runs the checks of the schema, then inference, then takes open types from the schema's type variables. Fills
/// `out` (one per output of the node).
Status infer_operator_node(const Operator& op, const ir::Node& node, const std::vector<InputView>& inputs,
                           const AttributeValues* attributes, const InferBody& infer_body, bool check_types,
                           std::vector<ir::Type>& out);

/// Output types by the inference of a version of a standard operator, for a node that behaves like it.
Status infer_as(std::string_view name, int since, const ir::Node& node, const InferInputs& inputs,
                std::vector<ir::Type>& out);

}  // namespace tenon::ops
