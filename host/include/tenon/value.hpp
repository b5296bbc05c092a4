// tenon/value.hpp: the base of tenon.hpp: the library's table, errors as exceptions, and values.
#pragma once

#if !(__cplusplus >= 202002L || (defined(_MSVC_LANG) && _MSVC_LANG >= 202002L))
#error "tenon/tenon.hpp needs C++20: compile with -std=c++20, or use the C API, tenon/tenon.h"
#endif

#include <complex>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/tenon.h"

namespace tenon {

/// The library's table. Throws std::runtime_error when the library is older than this header, because its table then
/// lacks functions that are called here.
inline const tenon_api& api() {
  static const tenon_api* const table = [] {
    const tenon_api* const found = tenon_get_api(TENON_API_VERSION);
    if (found == nullptr || found->struct_size < sizeof(tenon_api))
      throw std::runtime_error(
          "libtenon is older than the header tenon/tenon.hpp that this program was compiled with");
    return found;
  }();
  return *table;
}

inline tenon_str as_str(std::string_view text) { return {text.data(), text.size()}; }
inline std::string as_string(tenon_str text) { return std::string(text.data, text.size); }

/// Sets the function that receives the log lines of providers and runtime; see tenon_api::log_set. Null drops them.
inline void set_log(tenon_log_fn fn, void* context = nullptr) { api().log_set(fn, context); }

/// A failure. `kind` is a TENON_FAILURE_x, `code` a tenon_status; `where` names the node, file or provider.
class Error : public std::exception {
 public:
  Error(uint32_t kind, tenon_status code, std::string where, std::string message)
      : kind_(kind), code_(code), where_(std::move(where)), message_(std::move(message)) {
    text_ = where_.empty() ? message_ : where_ + ": " + message_;
  }
  const char* what() const noexcept override { return text_.c_str(); }
  uint32_t kind() const { return kind_; }
  tenon_status code() const { return code_; }
  const std::string& where() const { return where_; }
  const std::string& message() const { return message_; }
  /// A TENON_ERROR_PART_x: node, provider, cure ...; empty when the error says nothing about it.
  std::string part(uint32_t which) const {
    tenon_error error{};
    error.struct_size = sizeof error;
    error.code = code_;
    where_.copy(error.where, sizeof error.where - 1);
    message_.copy(error.message, sizeof error.message - 1);
    return as_string(api().error_part(&error, which));
  }

 private:
  uint32_t kind_;
  tenon_status code_;
  std::string where_, message_, text_;
};

namespace detail {

/// A tenon_error for one call of the C API; throws it as tenon::Error when the call failed.
class Check {
 public:
  Check() {
    error_.struct_size = sizeof error_;
    error_.code = 0;
    error_.flags = error_.kind = 0;
    error_.where[0] = error_.message[0] = '\0';
  }
  tenon_error* out() { return &error_; }
  void operator()(tenon_status status) const {
    if (status != TENON_OK) throw make(status);
  }
  Error make(tenon_status status) const {
    return Error(api().error_kind(&error_), status, error_.where, error_.message);
  }

 private:
  tenon_error error_;  // its texts are long: only their first characters are set
};

template <auto Release>
struct Deleter {
  template <class T>
  void operator()(T* handle) const {
    (api().*Release)(handle);
  }
};

template <class T, auto Release>
using Owner = std::unique_ptr<T, Deleter<Release>>;

inline std::string take_text(tenon_text* text) {
  Owner<tenon_text, &tenon_api::text_release> owner(text);
  return as_string(api().text_get(text));
}

}  // namespace detail

/// The element type of a C++ type. C++ has no type for float16, bfloat16 and smaller ones: use Value::raw.
template <class T>
constexpr uint32_t element_type_of() {
  if constexpr (std::is_same_v<T, float>)
    return TENON_FLOAT32;
  else if constexpr (std::is_same_v<T, double>)
    return TENON_FLOAT64;
  else if constexpr (std::is_same_v<T, bool>)
    return TENON_BOOL;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return TENON_COMPLEX64;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return TENON_COMPLEX128;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return sizeof(T) == 1   ? TENON_INT8
           : sizeof(T) == 2 ? TENON_INT16
           : sizeof(T) == 4 ? TENON_INT32
                            : TENON_INT64;
  else if constexpr (std::is_integral_v<T>)
    return sizeof(T) == 1   ? TENON_UINT8
           : sizeof(T) == 2 ? TENON_UINT16
           : sizeof(T) == 4 ? TENON_UINT32
                            : TENON_UINT64;
  else
    static_assert(!sizeof(T), "no element type for this C++ type");
}

/// Where a tensor is; see value_place in tenon.h.
struct Place {
  std::string device, domain;  // "cuda/gpu:0" and its kind of memory; "" and "host" for host memory
  bool host_can_read = true;
};

/// A counted reference to a tensor, sequence, optional or map; empty when default-constructed.
class Value {
 public:
  Value() = default;
  /// Takes over one count.
  static Value adopt(tenon_value* value) {
    Value out;
    out.value_ = value;
    return out;
  }
  Value(const Value& other) : value_(other.value_) {
    if (value_) api().value_retain(value_);
  }
  Value(Value&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Value& operator=(Value other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Value() {
    if (value_) api().value_release(value_);
  }

  /// A tensor with new memory, 64-byte aligned, not initialised.
  static Value empty_tensor(uint32_t dtype, std::span<const int64_t> dims) {
    detail::Check check;
    tenon_value* value = nullptr;
    void* data = nullptr;
    check(api().value_make_tensor(dtype, static_cast<uint32_t>(dims.size()), dims.data(), &value, &data,
                                  check.out()));
    return adopt(value);
  }
  /// A copy of `elements`. Throws Error when their number is not the product of `dims`.
  template <class T>
  static Value tensor(const std::vector<int64_t>& dims, std::span<const T> elements) {
    Value out = empty_tensor(element_type_of<T>(), dims);
    std::span<T> data = out.mutable_data<T>();
    if (data.size() != elements.size())
      throw Error(TENON_FAILURE_INVALID_INPUT, TENON_INVALID_ARGUMENT, "tenon::Value::tensor",
                  "dims require " + std::to_string(data.size()) + " elements, but the caller gave " +
                      std::to_string(elements.size()));
    if (!elements.empty()) std::memcpy(data.data(), elements.data(), elements.size_bytes());
    return out;
  }
  template <class T>
  static Value tensor(const std::vector<int64_t>& dims, std::initializer_list<T> elements) {
    return tensor<T>(dims, std::span<const T>(elements.begin(), elements.size()));
  }
  /// Refers to the memory of `elements`, which must outlive every count of the value.
  template <class T>
  static Value view(const std::vector<int64_t>& dims, std::span<const T> elements) {
    return wrap(dims, elements, &tenon_api::value_wrap);
  }
  /// The same, and no Run writes into the memory.
  template <class T>
  static Value view_read_only(const std::vector<int64_t>& dims, std::span<const T> elements) {
    return wrap(dims, elements, &tenon_api::value_wrap_read_only);
  }
  static Value strings(const std::vector<int64_t>& dims, const std::vector<std::string>& elements) {
    std::vector<int64_t> offsets{0};
    std::string bytes;
    for (const std::string& element : elements) {
      bytes += element;
      offsets.push_back(static_cast<int64_t>(bytes.size()));
    }
    detail::Check check;
    tenon_value* value = nullptr;
    check(api().value_make_strings(static_cast<uint32_t>(dims.size()), dims.data(), offsets.data(),
                                   bytes.data(), &value, check.out()));
    return adopt(value);
  }
  /// A DLManagedTensorVersioned (without `versioned`: a DLManagedTensor) of another library, which passes to the value
  /// also when this throws; see value_from_dlpack in tenon.h. Dense host memory is not copied.
  static Value from_dlpack(void* managed, bool versioned = true) {
    detail::Check check;
    tenon_value* value = nullptr;
    check(api().value_from_dlpack(managed, versioned ? 1 : 0, &value, check.out()));
    return adopt(value);
  }
  /// The tensor for another library, which calls its deleter once; see value_to_dlpack in tenon.h.
  void* to_dlpack(bool versioned = true) const {
    detail::Check check;
    void* managed = nullptr;
    check(api().value_to_dlpack(value_, versioned ? 1 : 0, &managed, check.out()));
    return managed;
  }

  /// Copies the content of `from`, of the same type and shape, into the memory of this tensor; see value_write in tenon.h.
  void write(const Value& from) {
    detail::Check check;
    check(api().value_write(value_, from.value_, check.out()));
  }

  explicit operator bool() const { return value_ != nullptr; }
  tenon_value* get() const { return value_; }
  tenon_value* release() { return std::exchange(value_, nullptr); }
  /// Nobody may write into the memory of this tensor: do not use mutable_data() and mutable_raw().
  bool is_read_only() const { return api().value_is_read_only(value_) != 0; }
  /// The same content in new memory of the host, which may be written.
  Value copy() const {
    detail::Check check;
    tenon_value* value = nullptr;
    check(api().value_copy(value_, &value, check.out()));
    return adopt(value);
  }
  uint32_t kind() const { return value_ ? api().value_kind(value_) : uint32_t{TENON_KIND_NONE}; }
  /// Number of elements of a sequence, optional (0 or 1) or map (2: keys and values).
  uint64_t size() const { return api().value_size(value_); }
  Value operator[](uint64_t index) const {
    tenon_value* element = api().value_element(value_, index);
    if (element) api().value_retain(element);
    return adopt(element);
  }

  /// The tensor's description, borrowed from this value. Throws Error when this is not a tensor, and when it is in memory
  /// of a device that the host cannot read.
  tenon_tensor describe() const {
    tenon_tensor tensor{};
    const tenon_status status = api().value_tensor(value_, &tensor);
    if (status == TENON_FAILED_PRECONDITION)
      throw Error(
          TENON_FAILURE_INVALID_INPUT, status, "tenon::Value",
          "the tensor is in memory of a device, which the host cannot read or which was lost; copy it with "
          "to_host() first");
    detail::Check check;
    check(status);
    return tensor;
  }
  /// Of a tensor in any memory, as for the next three.
  uint32_t dtype() const { return placed().dtype; }
  std::vector<int64_t> dims() const {
    const tenon_value_place place = placed();
    return {place.dims, place.dims + place.rank};
  }
  uint64_t element_count() const {
    uint64_t count = 1;
    const tenon_value_place place = placed();
    for (uint32_t i = 0; i < place.rank; ++i) count *= static_cast<uint64_t>(place.dims[i]);
    return count;
  }
  Place place() const {
    const tenon_value_place place = placed();
    return {as_string(place.device), as_string(place.domain), place.host_can_read != 0};
  }
  /// The same content in host memory; this value when it is there.
  Value to_host() const {
    detail::Check check;
    tenon_value* value = nullptr;
    check(api().value_to_host(value_, &value, check.out()));
    return adopt(value);
  }
  /// The elements, borrowed from this value. Throws Error when the element type is not that of T.
  template <class T>
  std::span<const T> data() const {
    tenon_tensor tensor = typed<T>();
    return {static_cast<const T*>(tensor.data), tensor.byte_size / sizeof(T)};
  }
  template <class T>
  std::span<T> mutable_data() {
    tenon_tensor tensor = typed<T>();
    return {static_cast<T*>(tensor.data), tensor.byte_size / sizeof(T)};
  }
  std::span<const std::byte> raw() const {
    tenon_tensor tensor = describe();
    return {static_cast<const std::byte*>(tensor.data), tensor.byte_size};
  }
  /// Writable bytes, for element types without a C++ type. Only for values whose memory this program made or wrapped.
  std::span<std::byte> mutable_raw() {
    tenon_tensor tensor = describe();
    return {static_cast<std::byte*>(tensor.data), tensor.byte_size};
  }
  /// Element `index` of a string tensor, borrowed from this value. The index is not checked.
  std::string_view string_at(uint64_t index) const {
    tenon_tensor tensor = describe();
    const char* bytes = static_cast<const char*>(tensor.data);
    return {bytes + tensor.offsets[index],
            static_cast<size_t>(tensor.offsets[index + 1] - tensor.offsets[index])};
  }

 private:
  template <class T, class Wrap>
  static Value wrap(const std::vector<int64_t>& dims, std::span<const T> elements, Wrap function) {
    tenon_tensor tensor{};
    tensor.kind = TENON_KIND_TENSOR;
    tensor.dtype = element_type_of<T>();
    tensor.rank = static_cast<uint32_t>(dims.size());
    tensor.dims = dims.data();
    tensor.data = const_cast<T*>(elements.data());
    tensor.byte_size = elements.size_bytes();
    detail::Check check;
    tenon_value* value = nullptr;
    check((api().*function)(&tensor, nullptr, nullptr, &value, check.out()));
    return adopt(value);
  }
  tenon_value_place placed() const {
    tenon_value_place place{};
    place.struct_size = sizeof place;
    detail::Check check;
    check(api().value_place(value_, &place, check.out()));
    return place;
  }
  template <class T>
  tenon_tensor typed() const {
    tenon_tensor tensor = describe();
    if (tensor.dtype != element_type_of<std::remove_const_t<T>>())
      throw Error(TENON_FAILURE_INVALID_INPUT, TENON_INVALID_ARGUMENT, "tenon::Value::data",
                  "the tensor has element type " + std::to_string(tensor.dtype) +
                      ", but the caller asks for " +
                      std::to_string(element_type_of<std::remove_const_t<T>>()));
    return tensor;
  }
  tenon_value* value_ = nullptr;
};

}  // namespace tenon
