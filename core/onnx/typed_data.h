// The typed fields of a TensorProto (float_data, int32_data, ...).
#pragma once

#include "core/ir/tensor.h"
#include "core/onnx/proto.h"

namespace tenon::onnx {

/// How many typed fields hold something.
int typed_field_count(const pb::TensorProto& proto);

/// The tensor from its typed field. INVALID_MODEL when the field is not the one of the type, its count does
/// not fit dims, or a number does not fit the type.
Result<ir::TensorPtr> read_typed(const pb::TensorProto& proto, ir::ElementType type,
                                 std::vector<int64_t> dims);

}  // namespace tenon::onnx
