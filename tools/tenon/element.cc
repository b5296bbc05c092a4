#include "tools/tenon/element.h"

#include <cstdio>

#include "ep-sdk/include/tenon/ep/numeric.hpp"

namespace tenon::cli {
namespace {

// Calls `use` with a value of the C++ type of `dtype`; false for strings and unknown types.
template <class Use>
bool with_type(uint32_t dtype, Use use) {
  switch (dtype) {
#define TENON_CASE(T)   \
  case ep::kDtypeOf<T>: \
    return use(T{}), true
    TENON_CASE(float);
    TENON_CASE(double);
    TENON_CASE(bool);
    TENON_CASE(uint8_t);
    TENON_CASE(int8_t);
    TENON_CASE(uint16_t);
    TENON_CASE(int16_t);
    TENON_CASE(uint32_t);
    TENON_CASE(int32_t);
    TENON_CASE(uint64_t);
    TENON_CASE(int64_t);
    TENON_CASE(std::complex<float>);
    TENON_CASE(std::complex<double>);
    TENON_CASE(ep::Float16);
    TENON_CASE(ep::BFloat16);
    TENON_CASE(ep::Float8E4M3FN);
    TENON_CASE(ep::Float8E4M3FNUZ);
    TENON_CASE(ep::Float8E5M2);
    TENON_CASE(ep::Float8E5M2FNUZ);
    TENON_CASE(ep::Float8E8M0);
    TENON_CASE(ep::Float6E2M3);
    TENON_CASE(ep::Float6E3M2);
    TENON_CASE(ep::Float4E2M1);
    TENON_CASE(ep::UInt4);
    TENON_CASE(ep::Int4);
    TENON_CASE(ep::UInt2);
    TENON_CASE(ep::Int2);
#undef TENON_CASE
    default:
      return false;
  }
}

// All digits, because integers are compared by their text. Empty for other types.
std::string integer_text(const tenon_tensor& tensor, uint64_t index) {
  std::string text;
  with_type(tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      text = std::to_string(ep::load_element<T>(tensor.data, static_cast<int64_t>(index)));
  });
  return text;
}

std::string real_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

}  // namespace

std::string element_name(uint32_t dtype) {
  std::string name = ep::dtype_name(dtype);
  return name == "unknown" ? "type " + std::to_string(dtype) : name;
}

std::complex<double> element_value(const tenon_tensor& tensor, uint64_t index) {
  std::complex<double> out;
  with_type(tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    T element = ep::load_element<T>(tensor.data, static_cast<int64_t>(index));
    if constexpr (ep::kIsComplex<T>)
      out = {static_cast<double>(element.real()), static_cast<double>(element.imag())};
    else
      out = static_cast<double>(static_cast<ep::Compute<T>>(element));
  });
  return out;
}

std::string element_text(const Value& value, uint64_t index) {
  tenon_tensor tensor = value.describe();
  if (tensor.dtype == TENON_STRING) return "'" + std::string(value.string_at(index)) + "'";
  if (std::string integer = integer_text(tensor, index); !integer.empty()) return integer;
  if (tensor.dtype == TENON_BOOL) return static_cast<const uint8_t*>(tensor.data)[index] ? "true" : "false";
  std::complex<double> number = element_value(tensor, index);
  if (tensor.dtype != TENON_COMPLEX64 && tensor.dtype != TENON_COMPLEX128) return real_text(number.real());
  return real_text(number.real()) + (number.imag() < 0 ? "-" : "+") + real_text(std::abs(number.imag())) +
         "i";
}

}  // namespace tenon::cli
