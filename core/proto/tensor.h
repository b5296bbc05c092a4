// TensorProto <-> ir::Tensor, for tensors whose data is in the message itself. Those of a model file, which stay where they
// are, read core/onnx.
#pragma once

#include "core/base/result.h"
#include "core/ir/tensor.h"
#include "core/proto/pb.h"

namespace tenon::proto {

/// From raw_data or a typed field. INVALID_MODEL when dims, type and data do not fit each other.
Result<ir::TensorPtr> read_tensor(const pb::TensorProto& proto);
Result<ir::SparseTensor> read_sparse_tensor(const pb::SparseTensorProto& proto);

/// The data is left out where it is larger than `most_bytes`.
void write_tensor(const ir::Tensor& tensor, pb::TensorProto* out, size_t most_bytes = SIZE_MAX);
void write_sparse_tensor(const ir::SparseTensor& sparse, pb::SparseTensorProto* out,
                         size_t most_bytes = SIZE_MAX);

// ---- Parts of reading ----

/// How many typed fields (float_data, int32_data, ...) hold something.
int typed_field_count(const pb::TensorProto& proto);
/// The tensor from its typed field. INVALID_MODEL when the field is not the one of the type, its count does
/// not fit dims, or a number does not fit the type.
Result<ir::TensorPtr> read_typed(const pb::TensorProto& proto, ir::ElementType type,
                                 std::vector<int64_t> dims);
/// LIMIT_EXCEEDED above the rank.
Result<std::vector<int64_t>> read_dims(const pb::TensorProto& proto, int most_rank);
/// A copy of raw_data; bools become 0 and 1, which providers may rely on.
Result<ir::TensorPtr> copy_raw(ir::ElementType type, std::vector<int64_t> dims, const std::byte* data,
                               size_t size);

}  // namespace tenon::proto
