// TensorProto -> ir::Tensor. Data that can stay in the file is not copied.
#pragma once

#include "core/ir/tensor.h"
#include "core/onnx/external_data.h"
#include "core/onnx/mapped_file.h"
#include "core/onnx/skeleton.h"
#include "core/proto/pb.h"

namespace tenon::onnx {

/// Not thread-safe; use one per load.
class TensorReader {
 public:
  /// The memory of raw data. `owner` keeps `data` alive; `file` is null for a model from memory.
  struct Source {
    std::shared_ptr<const void> owner;
    const std::byte* data = nullptr;
    std::shared_ptr<const MappedFile> file;
  };

  TensorReader(Source source, const std::vector<ByteSpan>& raw_data, ExternalFiles& external,
               const Limits& limits)
      : source_(std::move(source)), raw_data_(raw_data), external_(external), limits_(limits) {}

  /// INVALID_MODEL when dims, type and data do not match.
  Result<ir::TensorPtr> read(const pb::TensorProto& proto);
  Result<ir::SparseTensor> read_sparse(const pb::SparseTensorProto& proto);

 private:
  Result<ir::TensorPtr> read_raw(ir::ElementType type, std::vector<int64_t> dims, ByteSpan bytes);
  Result<ir::TensorPtr> read_external(const pb::TensorProto& proto, ir::ElementType type,
                                      std::vector<int64_t> dims);

  Source source_;
  const std::vector<ByteSpan>& raw_data_;
  ExternalFiles& external_;
  const Limits& limits_;
};

}  // namespace tenon::onnx
