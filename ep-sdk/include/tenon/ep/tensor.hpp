// Views of tensors: one pointer, borrowed. They do not check element types, because dispatch() has done so.
#ifndef TENON_EP_TENSOR_HPP_
#define TENON_EP_TENSOR_HPP_

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/ep/dispatch.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

using Dims = std::vector<int64_t>;
using DimsView = std::span<const int64_t>;

/// Sets `out` to a * b, or returns true when that does not fit.
inline bool multiply_overflows(int64_t a, int64_t b, int64_t* out) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  if (((a | b) >> 31) != 0) {  // not both in [0, 2^31), so it takes divisions to know
    if (a > 0 && (b > most / a || b < least / a)) return true;
    if (a < -1 && (b < most / a || b > least / a)) return true;
    if (a == -1 && b == least) return true;
  }
  *out = a * b;
  return false;
}

/// Product of the dims; 1 for a scalar, INT64_MAX on overflow.
inline int64_t element_count(DimsView dims) {
  int64_t n = 1;
  bool too_large = false;
  for (const int64_t d : dims) {
    if (d == 0) return 0;
    too_large = multiply_overflows(n, d, &n) || too_large;
  }
  return too_large ? std::numeric_limits<int64_t>::max() : n;
}

/// A tensor, or a value of another kind, to read. Valid as long as its descriptor.
class TensorView {
 public:
  explicit TensorView(const tenon_tensor* raw) : raw_(raw) {}

  /// False for a missing optional input.
  bool present() const { return raw_->kind != TENON_KIND_NONE; }
  uint32_t kind() const { return raw_->kind; }
  uint32_t dtype() const { return raw_->dtype; }
  int rank() const { return static_cast<int>(raw_->rank); }
  DimsView dims() const { return {raw_->dims, raw_->rank}; }
  int64_t dim(int i) const { return raw_->dims[i]; }
  int64_t size() const { return element_count(dims()); }
  int64_t byte_size() const {
    return static_cast<int64_t>(dtype_bytes(dtype(), static_cast<uint64_t>(size())));
  }

  template <class T>
  const T* data() const {
    return static_cast<const T*>(raw_->data);
  }
  const void* bytes() const { return raw_->data; }
  template <class T>
  std::span<const T> span() const {
    return {data<T>(), static_cast<size_t>(size())};
  }
  /// Element `i`, packed types included.
  template <class T>
  T at(int64_t i) const {
    return load_element<T>(raw_->data, i);
  }
  /// Element `i` of a string tensor.
  std::string_view string(int64_t i) const {
    const int64_t begin = raw_->offsets[i];
    return {static_cast<const char*>(raw_->data) + begin, static_cast<size_t>(raw_->offsets[i + 1] - begin)};
  }
  /// Elements as int64, from a tensor of int32 or int64: shapes, axes, indices.
  Dims to_dims() const {
    if (dtype() == TENON_INT32) return {data<int32_t>(), data<int32_t>() + size()};
    require(dtype() == TENON_INT64, TENON_INVALID_ARGUMENT, "int64 expected, not ", dtype_name(dtype()));
    return {data<int64_t>(), data<int64_t>() + size()};
  }

  const tenon_tensor* raw() const { return raw_; }

 private:
  const tenon_tensor* raw_;
};

/// A tensor to write.
class OutputTensor {
 public:
  explicit OutputTensor(tenon_tensor* raw) : raw_(raw) {}

  uint32_t dtype() const { return raw_->dtype; }
  int rank() const { return static_cast<int>(raw_->rank); }
  DimsView dims() const { return {raw_->dims, raw_->rank}; }
  int64_t dim(int i) const { return raw_->dims[i]; }
  int64_t size() const { return element_count(dims()); }
  int64_t byte_size() const {
    return static_cast<int64_t>(dtype_bytes(dtype(), static_cast<uint64_t>(size())));
  }
  template <class T>
  T* data() const {
    return static_cast<T*>(raw_->data);
  }
  void* bytes() const { return raw_->data; }
  template <class T>
  std::span<T> span() const {
    return {data<T>(), static_cast<size_t>(size())};
  }
  template <class T>
  void set(int64_t i, T value) const {
    store_element<T>(raw_->data, i, value);
  }
  // NOLINTNEXTLINE(google-explicit-constructor): what may be written may be read
  operator TensorView() const { return TensorView(raw_); }

 private:
  tenon_tensor* raw_;
};

/// Collects the elements of a string tensor in order.
class StringBuilder {
 public:
  void reserve(int64_t elements, int64_t bytes) {
    offsets_.reserve(static_cast<size_t>(elements) + 1);
    bytes_.reserve(static_cast<size_t>(bytes));
  }
  void add(std::string_view text) {
    bytes_ += text;
    offsets_.push_back(static_cast<int64_t>(bytes_.size()));
  }
  int64_t size() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  const int64_t* offsets() const { return offsets_.data(); }
  const char* bytes() const { return bytes_.data(); }

 private:
  std::vector<int64_t> offsets_{0};
  std::string bytes_;
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_TENSOR_HPP_
