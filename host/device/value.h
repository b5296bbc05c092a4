// The counted value of tenon.h and ep.h: a tensor in host memory, or a sequence, optional or map of such.
//
// A value is filled by whoever made it before it is shared, and is not changed afterwards; then any number of
// threads may read and count it. What it does not do: it knows no device memory, and converts nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/ir/tensor.h"
#include "host/services/memory_budget.h"
#include "tenon/tenon.h"

namespace tenon::runtime {

/// One count of a value, given back by the destructor. May be empty.
class ValueRef {
 public:
  ValueRef() = default;
  ~ValueRef() { reset(); }
  ValueRef(const ValueRef& other) : ValueRef(share(other.value_)) {}
  ValueRef(ValueRef&& other) noexcept : value_(other.release()) {}
  ValueRef& operator=(ValueRef other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }

  /// Takes over one count.
  static ValueRef adopt(tenon_value* value) {
    ValueRef out;
    out.value_ = value;
    return out;
  }
  /// Adds a count; null gives an empty reference.
  static ValueRef share(tenon_value* value);

  explicit operator bool() const { return value_ != nullptr; }
  tenon_value* get() const { return value_; }
  inline const tenon_value* operator->() const { return value_; }
  /// Gives the count to the caller.
  tenon_value* release() { return std::exchange(value_, nullptr); }
  void reset();

 private:
  tenon_value* value_ = nullptr;
};

}  // namespace tenon::runtime

/// A tensor's descriptor, dims and data stand in one block of memory where the host allocates them. `tensor`
/// is filled for every kind: of others, its kind, dtype (of the innermost tensors) and `object`.
struct tenon_value {
  mutable std::atomic<uint32_t> count{1};
  tenon_tensor tensor{};
  std::vector<tenon::runtime::ValueRef> elements;  // SEQUENCE: n; OPTIONAL: 0 or 1; MAP: keys, values
  uint32_t depth = 0;                              // of elements in elements: 0 for a tensor
  void (*free_fn)(void* context) = nullptr;        // of wrapped memory
  void* free_context = nullptr;
  tenon::runtime::MemoryCharge charge;  // for memory of its own

  uint32_t kind() const { return tensor.kind; }
  bool is_tensor() const { return tensor.kind == TENON_KIND_TENSOR; }
  std::span<const int64_t> dims() const { return {tensor.dims, tensor.rank}; }
};

namespace tenon::runtime {

/// Deepest nesting of sequences, optionals and maps: what walks a value, its end first, takes some stack for each level.
inline constexpr uint32_t kMaxValueDepth = 64;

/// That `dims` of a descriptor given by the application can be read: there are some, and not more than a tensor may have.
Status check_dims_given(const tenon_tensor& tensor);

/// Elements of a shape; false when a dim is negative or the product does not fit 63 bits.
bool count_elements(std::span<const int64_t> dims, int64_t* out_count);
/// Bytes of a dense tensor, sub-byte types packed; false as count_elements, and for strings and unknown
/// types.
bool tensor_bytes(uint32_t dtype, std::span<const int64_t> dims, uint64_t* out_bytes);

/// An uninitialised tensor in 64-byte aligned memory of its own; no data for zero elements. OUT_OF_MEMORY, or
/// INVALID_ARGUMENT for a type or shape that cannot be. Not for strings.
Result<ValueRef> make_tensor(uint32_t dtype, std::span<const int64_t> dims);
/// Refers to dense host memory of the caller (a string tensor too); `free_fn` runs when the last count goes.
Result<ValueRef> wrap_tensor(const tenon_tensor& tensor, void (*free_fn)(void*), void* free_context);
/// Copies `offsets` (element count + 1, rising from 0) and the bytes they span.
Result<ValueRef> make_strings(std::span<const int64_t> dims, const int64_t* offsets, const char* bytes);
Result<ValueRef> make_strings(std::span<const int64_t> dims, std::span<const std::string> strings);
/// SEQUENCE, OPTIONAL (0 or 1 element) or MAP (a tensor of keys, and a tensor or sequence of values). Counts
/// the elements. `dtype`: of the innermost tensors, for when there are no elements.
Result<ValueRef> make_composite(uint32_t kind, uint32_t dtype, std::span<tenon_value* const> elements);
/// A copy of any dense tensor in host memory, strings included.
Result<ValueRef> copy_tensor(const tenon_tensor& tensor);

/// Refers to the tensor's memory and keeps it alive.
Result<ValueRef> value_of(const ir::TensorPtr& tensor);
/// Refers to the value's memory and keeps it alive. INVALID_ARGUMENT when it is no tensor.
Result<ir::TensorPtr> tensor_of(const ValueRef& value);
/// A descriptor of the tensor's memory; borrowed.
tenon_tensor describe(const ir::Tensor& tensor);

}  // namespace tenon::runtime
