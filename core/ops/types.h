// Checks and merges value types. Internal to core/ops.
#pragma once

#include "core/ops/onnx_inference.h"

namespace tenon::ops {

/// The types of a node's type variables, known from its inputs.
struct BoundTypes {
  std::vector<const ir::Type*> variables;
};

/// Checks that all required inputs are there. The schema's arity covers a node as written; in a function body,
/// inputs also depend on the call.
Status check_required_inputs(const Operator& op, const std::vector<InputView>& inputs);

/// Refuses outputs of a rank that providers cannot take, or too large for a byte count.
Status check_output_shapes(const std::vector<ir::Type>& out);

/// Checks that the types of inputs are allowed by the schema. Unknown types pass.
Status check_input_types(const Operator& op, const std::vector<InputView>& inputs, BoundTypes& bound);

/// Sets element types of outputs that inference left open but the schema determines.
void fill_output_types(const Operator& op, const BoundTypes& bound, std::vector<ir::Type>& out);

/// Prefix of the symbols that inference generates for unnamed dimensions.
inline constexpr std::string_view kFreshPrefix = "_d";

}  // namespace tenon::ops
