// Inference of one node, used by the graph walk and by our own rules. Internal to core/ops.
#pragma once

#include "core/ops/types.h"

namespace tenon::ops {

/// The schema's checks, then inference, then the schema's type variables for open types. Fills `out` (one per
/// output of the node).
Status infer_operator_node(const Operator& op, const ir::Node& node, const std::vector<InputView>& inputs,
                           const AttributeValues* attributes, const InferBody& infer_body, bool check_types,
                           std::vector<ir::Type>& out);

/// Infers `node` like a version of a standard operator.
Status infer_as(std::string_view name, int since, const ir::Node& node, const InferInputs& inputs,
                std::vector<ir::Type>& out);

}  // namespace tenon::ops
