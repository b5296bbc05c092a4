// The counted value of tenon.h and ep.h: a tensor in host memory, or a sequence, optional or map of such tensors; or a
// tensor that stays in memory of a device (device_value.h).
//
// A value is filled before it is shared and does not change afterwards, so any number of threads may read and
// count it. It does not convert.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
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

class Buffer;

/// One count of a value. The destructor gives it back. May be empty.
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

  /// Takes over one count from the caller.
  static ValueRef adopt(tenon_value* value) {
    ValueRef out;
    out.value_ = value;
    return out;
  }
  /// Adds a count. Null gives an empty reference.
  static ValueRef share(tenon_value* value);

  explicit operator bool() const { return value_ != nullptr; }
  tenon_value* get() const { return value_; }
  inline const tenon_value* operator->() const { return value_; }
  /// Gives the count to the caller.
  tenon_value* release() { return std::exchange(value_, nullptr); }
  void reset() {
    if (value_ != nullptr) give_back();
  }

 private:
  void give_back();

  tenon_value* value_ = nullptr;
};

}  // namespace tenon::runtime

/// The host allocates descriptor, dims and data of a tensor as one block. `tensor` is filled for every kind; if it
/// is not a tensor, with its kind, `object` and the dtype of the innermost tensors.
struct tenon_value {
  mutable std::atomic<uint32_t> count{1};
  tenon_tensor tensor{};
  std::vector<tenon::runtime::ValueRef> elements;  // SEQUENCE: n; OPTIONAL: 0 or 1; MAP: keys, values
  uint32_t depth = 0;                              // nesting depth of the elements; 0 for a tensor
  bool read_only = false;                          // no Run may write into its memory
  void (*free_fn)(void* context) = nullptr;        // frees wrapped memory
  void* free_context = nullptr;
  size_t block = 0;                     // bytes of its own memory, with this struct; 0: not known
  tenon::runtime::MemoryCharge charge;  // for its own memory
  // Of a tensor in memory of a device; else null. `tensor` then has no data, except where the host can read it.
  std::shared_ptr<tenon::runtime::Buffer> memory;
  uint32_t fork = 0;  // with `memory`: the process that made it

  uint32_t kind() const { return tensor.kind; }
  bool is_tensor() const { return tensor.kind == TENON_KIND_TENSOR; }
  bool is_on_device() const { return memory != nullptr; }
  std::span<const int64_t> dims() const { return {tensor.dims, tensor.rank}; }
};

namespace tenon::runtime {

/// Deepest nesting of sequences, optionals and maps. Code that walks or destroys a value takes some stack per level.
inline constexpr uint32_t kMaxValueDepth = 64;

/// Checks that `dims` of an application's descriptor can be read: the pointer is set if needed and the rank is valid.
Status check_dims_given(const tenon_tensor& tensor);

/// The number of elements. False when a dim is negative or the product does not fit 63 bits.
bool count_elements(std::span<const int64_t> dims, int64_t* out_count);
/// The bytes of a dense tensor, with sub-byte types packed. False as for count_elements, and for strings and
/// unknown types.
bool tensor_bytes(uint32_t dtype, std::span<const int64_t> dims, uint64_t* out_bytes);

/// An uninitialised tensor in its own 64-byte aligned memory; no data for zero elements. Not for strings.
/// OUT_OF_MEMORY, or INVALID_ARGUMENT for an invalid type or shape.
Result<ValueRef> make_tensor(uint32_t dtype, std::span<const int64_t> dims);
/// A tensor with dims of its own and no data, to be placed in memory of a device. Not for strings.
Result<ValueRef> make_placeless(uint32_t dtype, std::span<const int64_t> dims);
/// Refers to dense host memory of the caller, also of a string tensor. `free_fn` is called when the last count goes.
Result<ValueRef> wrap_tensor(const tenon_tensor& tensor, void (*free_fn)(void*), void* free_context);
/// Copies `offsets` (element count + 1, rising from 0) and the bytes that they span.
Result<ValueRef> make_strings(std::span<const int64_t> dims, const int64_t* offsets, const char* bytes);
Result<ValueRef> make_strings(std::span<const int64_t> dims, std::span<const std::string> strings);
/// SEQUENCE, OPTIONAL (0 or 1 element) or MAP (a tensor of keys, and a tensor or sequence of values). Adds a count
/// to each element. `dtype` is that of the innermost tensors; it is used when there are no elements.
Result<ValueRef> make_composite(uint32_t kind, uint32_t dtype, std::span<tenon_value* const> elements);
/// Copies any dense tensor in host memory, strings included.
Result<ValueRef> copy_tensor(const tenon_tensor& tensor);

/// Refers to the tensor's memory and keeps it alive. Read-only.
Result<ValueRef> value_of(const ir::TensorPtr& tensor);
/// Refers to the value's memory and keeps it alive. INVALID_ARGUMENT when it is not a tensor.
Result<ir::TensorPtr> tensor_of(const ValueRef& value);
/// A descriptor that borrows the tensor's memory.
tenon_tensor describe(const ir::Tensor& tensor);

}  // namespace tenon::runtime
