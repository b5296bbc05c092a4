// ValueRef: one count of a host value (a sequence, optional, map, or a tensor in one). The destructor releases it.
#ifndef TENON_EP_VALUE_HPP_
#define TENON_EP_VALUE_HPP_

#include <memory>
#include <vector>

#include "tenon/ep/tensor.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

class ValueRef {
 public:
  ValueRef() = default;
  ~ValueRef() { reset(); }
  ValueRef(ValueRef&& other) noexcept : value_(other.release()) {}
  ValueRef(const ValueRef& other) : ValueRef(shared(other.value_)) {}
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
  /// Adds a count.
  static ValueRef shared(tenon_value* value) {
    if (value != nullptr) host().value_retain(value);
    return adopt(value);
  }

  explicit operator bool() const { return value_ != nullptr; }
  tenon_value* get() const { return value_; }
  tenon_value* release() { return std::exchange(value_, nullptr); }
  void reset() {
    if (value_ != nullptr) host().value_release(std::exchange(value_, nullptr));
  }

  uint32_t kind() const { return value_ == nullptr ? uint32_t{TENON_KIND_NONE} : host().value_kind(value_); }
  int64_t size() const { return value_ == nullptr ? 0 : static_cast<int64_t>(host().value_size(value_)); }
  ValueRef element(int64_t i) const {
    tenon_value* element = host().value_element(value_, static_cast<uint64_t>(i));
    require(element != nullptr, TENON_OUT_OF_RANGE, "element ", i, " of a value with ", size(), " elements");
    return shared(element);
  }
  /// The descriptor of a tensor value; what it points to lives as long as the value.
  tenon_tensor tensor() const {
    tenon_tensor out{};
    const tenon_status status = host().value_tensor(value_, &out);
    require(status == TENON_OK, status, "a tensor was expected");
    return out;
  }

 private:
  tenon_value* value_ = nullptr;
};

/// A new tensor value. `*out_data` is its uninitialised memory; fill it before the value is passed on.
inline ValueRef make_tensor_value(uint32_t dtype, DimsView dims, void** out_data) {
  tenon_value* value = nullptr;
  call_host(host().value_make_tensor, dtype, static_cast<uint32_t>(dims.size()), dims.data(), &value,
            out_data);
  return ValueRef::adopt(value);
}

inline ValueRef make_string_value(DimsView dims, const StringBuilder& strings) {
  tenon_value* value = nullptr;
  call_host(host().value_make_strings, static_cast<uint32_t>(dims.size()), dims.data(), strings.offsets(),
            strings.bytes(), &value);
  return ValueRef::adopt(value);
}

/// A copy of any tensor, strings included.
inline ValueRef copy_to_value(TensorView tensor) {
  if (tensor.dtype() == TENON_STRING) {
    StringBuilder strings;
    for (int64_t i = 0, n = tensor.size(); i < n; ++i) strings.add(tensor.string(i));
    return make_string_value(tensor.dims(), strings);
  }
  void* data = nullptr;
  ValueRef out = make_tensor_value(tensor.dtype(), tensor.dims(), &data);
  if (tensor.byte_size() > 0) std::memcpy(data, tensor.bytes(), static_cast<size_t>(tensor.byte_size()));
  return out;
}

/// `kind`: TENON_KIND_SEQUENCE, OPTIONAL or MAP. `dtype`: of the elements; needed when there are none.
inline ValueRef make_value(uint32_t kind, uint32_t dtype, std::span<const ValueRef> elements) {
  std::vector<tenon_value*> raw;
  raw.reserve(elements.size());
  for (const ValueRef& element : elements) raw.push_back(element.get());
  tenon_value* value = nullptr;
  tenon_value* const* first = raw.data();
  call_host(host().value_make, kind, dtype, first, static_cast<uint64_t>(raw.size()), &value);
  return ValueRef::adopt(value);
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_VALUE_HPP_
