// Checks the calls between the functions of a model.
#pragma once

#include "core/ir/graph.h"
#include "core/onnx/onnx.h"

namespace tenon::onnx {

/// INVALID_MODEL when functions call each other in a cycle. LIMIT_EXCEEDED when the model with all functions
/// inlined would have too many nodes or too deeply nested graphs. Computes this without inlining.
Status check_functions(const ir::Model& model, const Limits& limits);

}  // namespace tenon::onnx
