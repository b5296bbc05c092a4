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

/// Where mapped bytes come from; names a weight in cache keys without hashing it.
struct FileSpan {
  std::string path;
  uint64_t device = 0, inode = 0, mtime_ns = 0;
  uint64_t file_size = 0, offset = 0;
};

/// Immutable; shared by pointer between graphs. Dense, row-major, sub-byte types packed as in ep.h.
/// `data` need not be aligned (mapped model files are not); the host copies where alignment is promised.
class Tensor {
 public:
  /// Takes bytes over. INVALID_MODEL when the size is not what type and dims ask for.
  static Result<std::shared_ptr<const Tensor>> make(ElementType type, std::vector<int64_t> dims,
                                                    std::vector<std::byte> bytes);
  /// Refers to memory that `owner` keeps alive (a mapping).
  static Result<std::shared_ptr<const Tensor>> refer(ElementType type, std::vector<int64_t> dims,
                                                     const std::byte* data, size_t byte_size,
                                                     std::shared_ptr<const void> owner, FileSpan origin = {});
  static Result<std::shared_ptr<const Tensor>> make_strings(std::vector<int64_t> dims,
                                                            const std::vector<std::string>& strings);
  /// A vector or scalar of int64, the usual material of shape arithmetic.
  static std::shared_ptr<const Tensor> of_ints(const std::vector<int64_t>& values);
  static std::shared_ptr<const Tensor> scalar_int(int64_t value);

  ElementType type() const { return type_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t element_count() const { return count_; }
  const std::byte* data() const { return data_; }
  size_t byte_size() const { return byte_size_; }
  /// Strings only: element i is bytes [offsets[i], offsets[i+1]) of data().
  const std::vector<int64_t>& string_offsets() const { return offsets_; }
  std::string_view string_at(int64_t index) const;
  const FileSpan& origin() const { return origin_; }
  Shape shape() const { return Shape::of(dims_); }
  /// int32 or int64 elements as int64; false for other types.
  bool to_ints(std::vector<int64_t>* out_values) const;
  /// Bytes equal, types and dims equal.
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

/// COO form of ONNX: `values` [nnz], `indices` int64 [nnz] or [nnz, rank].
struct SparseTensor {
  std::vector<int64_t> dims;
  TensorPtr values, indices;
};
/// The dense form; LIMIT_EXCEEDED when it takes more than `limit_bytes`, INVALID_MODEL for an index outside.
Result<TensorPtr> to_dense(const SparseTensor& sparse, int64_t limit_bytes);

}  // namespace tenon::ir
