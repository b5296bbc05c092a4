// Functions of a model as a whole: who calls whom.
#pragma once

#include "core/ir/graph.h"
#include "core/onnx/onnx.h"

namespace tenon::onnx {

/// INVALID_MODEL when functions call each other in a circle; LIMIT_EXCEEDED when the model would have too
/// many nodes, or too deeply nested graphs, with all functions inlined. Nothing is inlined to find out.
Status check_functions(const ir::Model& model, const Limits& limits);

}  // namespace tenon::onnx
