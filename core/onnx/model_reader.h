// ModelProto -> ir::Model: versions, opsets, functions, the graph.
#pragma once

#include "core/ir/graph.h"
#include "core/onnx/tensor_reader.h"
#include "core/proto/pb.h"

namespace tenon::onnx {

/// The model as the file has it: names, structure and limits are checked, operators are not.
Result<ir::Model> read_model(const pb::ModelProto& proto, TensorReader& tensors, const Limits& limits);

}  // namespace tenon::onnx
