// Checking and merging of value types. Internal to core/ops.
#pragma once

#include "core/ops/context.h"

namespace tenon::ops {

/// The types that a node's type variables stand for, known from its inputs.
struct BoundTypes {
  std::vector<const ir::Type*> variables;
};

/// Inputs that the operator cannot do without must be there. The schema's arity says it of a node as it is written; in
/// the body of a function it also depends on what the call gives.
Status check_required_inputs(const Operator& op, const std::vector<InputView>& inputs);

/// No output of a rank that providers cannot take, nor of more elements than can be counted in bytes.
Status check_output_shapes(const std::vector<ir::Type>& out);

/// Inputs must be of the types that the schema allows; what is not known passes.
Status check_input_types(const Operator& op, const std::vector<InputView>& inputs, BoundTypes& bound);

/// Element types of outputs that inference left open and the schema determines.
void fill_output_types(const Operator& op, const BoundTypes& bound, std::vector<ir::Type>& out);

/// Prefix of symbols that inference makes up for a dimension nobody named.
inline constexpr std::string_view kFreshPrefix = "_d";

}  // namespace tenon::ops
