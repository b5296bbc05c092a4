// Constant tensors of a graph: initializers, tensor attributes, folded values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/type.h"

namespace tenon::ir {

/// Where mapped bytes come from. Identifies a weight in cache keys without hashing its bytes.
struct FileSpan {
  std::string path;
  uint64_t device = 0, inode = 0, mtime_ns = 0;
  uint64_t file_size = 0, offset = 0;
};

/// Immutable; graphs share it by pointer. Dense and row-major; sub-byte types are packed as in ep.h. `data` may be
/// unaligned (mapped model files are). The host copies it where alignment is promised.
class Tensor {
 public:
  /// Takes ownership of the bytes. INVALID_MODEL when their size does not fit type and dims.
  static Result<std::shared_ptr<const Tensor>> make(ElementType type, std::vector<int64_t> dims,
                                                    std::vector<std::byte> bytes);
  /// Borrows memory (a mapping) that `owner` keeps alive.
  static Result<std::shared_ptr<const Tensor>> refer(ElementType type, std::vector<int64_t> dims,
                                                     const std::byte* data, size_t byte_size,
                                                     std::shared_ptr<const void> owner, FileSpan origin = {});
  static Result<std::shared_ptr<const Tensor>> make_strings(std::vector<int64_t> dims,
                                                            const std::vector<std::string>& strings);
  /// An int64 vector or scalar, for shape arithmetic.
  static std::shared_ptr<const Tensor> of_ints(const std::vector<int64_t>& values);
  static std::shared_ptr<const Tensor> scalar_int(int64_t value);

  ElementType type() const { return type_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t element_count() const { return count_; }
  const std::byte* data() const { return data_; }
  size_t byte_size() const { return byte_size_; }
  /// For strings only: element i is bytes [offsets[i], offsets[i+1]) of data().
  const std::vector<int64_t>& string_offsets() const { return offsets_; }
  std::string_view string_at(int64_t index) const;
  const FileSpan& origin() const { return origin_; }
  Shape shape() const { return Shape::of(dims_); }
  /// int32 or int64 elements as int64; false for other types.
  bool to_ints(std::vector<int64_t>* out_values) const;
  /// Equal bytes, type and dims.
  bool same_as(const Tensor& other) const;

 private:
  friend class TensorBuilder;
  ElementType type_ = ElementType::kUndefined;
  std::vector<int64_t> dims_;
  int64_t count_ = 0;
  const std::byte* data_ = nullptr;
  size_t byte_size_ = 0;
  std::vector<int64_t> offsets_;
  std::shared_ptr<const void> owner_;
  FileSpan origin_;
};

using TensorPtr = std::shared_ptr<const Tensor>;

/// The COO form of ONNX: `values` [nnz], `indices` int64 [nnz] or [nnz, rank].
struct SparseTensor {
  std::vector<int64_t> dims;
  TensorPtr values, indices;
};
/// The dense form. LIMIT_EXCEEDED when it takes more than `limit_bytes`, INVALID_MODEL for an index out of range.
Result<TensorPtr> to_dense(const SparseTensor& sparse, int64_t limit_bytes);

}  // namespace tenon::ir
