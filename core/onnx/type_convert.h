// TypeProto <-> ir::Type.
#pragma once

#include "core/base/result.h"
#include "core/ir/type.h"
#include "core/onnx/proto.h"

namespace tenon::onnx {

/// A TypeProto that says nothing gives kUnknown, a tensor without element type kUndefined. INVALID_MODEL for
/// element types that do not exist, UNSUPPORTED for opaque and 6-bit ones. Depth and rank were checked by
/// make_skeleton.
Result<ir::Type> read_type(const pb::TypeProto& proto);
void write_type(const ir::Type& type, pb::TypeProto* out);

}  // namespace tenon::onnx
