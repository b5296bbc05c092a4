// ModelProto -> ir::Model: versions, opsets, functions, the graph.
#pragma once

#include "core/ir/graph.h"
#include "core/onnx/tensor_reader.h"
#include "core/proto/pb.h"

namespace tenon::onnx {

/// Returns the model as the file has it. Checks names, structure and limits, but not operators.
Result<ir::Model> read_model(const pb::ModelProto& proto, TensorReader& tensors, const Limits& limits);

}  // namespace tenon::onnx
