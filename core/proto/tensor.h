// TensorProto <-> ir::Tensor, for tensors with their data in the message. core/onnx reads the tensors of a
// model file, whose data stays in the file.
#pragma once

#include "core/base/result.h"
#include "core/ir/tensor.h"
#include "core/proto/pb.h"

namespace tenon::proto {

/// Reads raw_data or a typed field. INVALID_MODEL when dims, type and data do not match.
Result<ir::TensorPtr> read_tensor(const pb::TensorProto& proto);
Result<ir::SparseTensor> read_sparse_tensor(const pb::SparseTensorProto& proto);

/// Leaves out data larger than `most_bytes`.
void write_tensor(const ir::Tensor& tensor, pb::TensorProto* out, size_t most_bytes = SIZE_MAX);
void write_sparse_tensor(const ir::SparseTensor& sparse, pb::SparseTensorProto* out,
                         size_t most_bytes = SIZE_MAX);

// ---- Parts of reading ----

/// The number of nonempty typed fields (float_data, int32_data, ...).
int typed_field_count(const pb::TensorProto& proto);
/// Reads the typed field. INVALID_MODEL when the field does not match the type, its count does not fit dims, or a
/// number does not fit the type.
Result<ir::TensorPtr> read_typed(const pb::TensorProto& proto, ir::ElementType type,
                                 std::vector<int64_t> dims);
/// LIMIT_EXCEEDED above `most_rank`.
Result<std::vector<int64_t>> read_dims(const pb::TensorProto& proto, int most_rank);
/// Copies raw_data. Nonzero bools become 1, because providers may rely on that.
Result<ir::TensorPtr> copy_raw(ir::ElementType type, std::vector<int64_t> dims, const std::byte* data,
                               size_t size);

}  // namespace tenon::proto
