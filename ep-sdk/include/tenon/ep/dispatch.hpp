// Lists of element types as values, and dispatch from a run-time element type to a C++ type.
#ifndef TENON_EP_DISPATCH_HPP_
#define TENON_EP_DISPATCH_HPP_

#include <array>
#include <string>

#include "tenon/ep/error.hpp"
#include "tenon/ep/numeric.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// A set of element types, given as C++ types. Objects are empty; `a + b` is the union of two.
template <class... T>
struct TypeList {
  static constexpr std::array<uint32_t, sizeof...(T)> kDtypes{kDtypeOf<T>...};

  static constexpr bool contains(uint32_t dtype) { return ((dtype == kDtypeOf<T>) || ...); }
  template <class... U>
  constexpr TypeList<T..., U...> operator+(TypeList<U...>) const {
    return {};
  }
};

inline constexpr TypeList<float, double, Float16, BFloat16> kFloatTypes;
inline constexpr TypeList<int8_t, int16_t, int32_t, int64_t> kSignedIntTypes;
inline constexpr TypeList<uint8_t, uint16_t, uint32_t, uint64_t> kUnsignedIntTypes;
inline constexpr TypeList<int32_t, int64_t> kIndexTypes;
inline constexpr TypeList<bool> kBoolType;
inline constexpr auto kIntTypes = kSignedIntTypes + kUnsignedIntTypes;
inline constexpr auto kNumericTypes = kFloatTypes + kIntTypes;
inline constexpr TypeList<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ> kFloat8Types;
inline constexpr TypeList<UInt4, Int4, UInt2, Int2> kSmallIntTypes;
inline constexpr TypeList<std::complex<float>, std::complex<double>> kComplexTypes;
inline constexpr TypeList<Float8E8M0, Float4E2M1, Float6E2M3, Float6E3M2> kScalingTypes;
/// Every element type except string.
inline constexpr auto kAllTypes =
    kNumericTypes + kBoolType + kComplexTypes + kFloat8Types + kSmallIntTypes + kScalingTypes;

/// "float32, float64".
template <class... T>
std::string type_names(TypeList<T...>) {
  std::string out;
  for (const uint32_t dtype : TypeList<T...>::kDtypes)
    out += (out.empty() ? "" : ", ") + std::string(dtype_name(dtype));
  return out;
}

/// Calls `f.template operator()<T>()` for the T of `dtype`. Throws Error when the list lacks it.
///   dispatch(kFloatTypes, x.dtype(), [&]<class T>() { scale(x.data<T>(), n); });
template <class... T, class F>
void dispatch(TypeList<T...>, uint32_t dtype, F&& f) {
  const bool found = ((dtype == kDtypeOf<T> ? (f.template operator()<T>(), true) : false) || ...);
  if (!found) [[unlikely]]
    fail(TENON_UNIMPLEMENTED, "element type ", dtype_name(dtype), " is not supported here");
}

/// Like dispatch(), but returns the result of `f`: often a function pointer, chosen once at compile.
template <class R, class... T, class F>
R select(TypeList<T...>, uint32_t dtype, F&& f) {
  R out{};
  dispatch(TypeList<T...>(), dtype, [&]<class U>() { out = f.template operator()<U>(); });
  return out;
}

/// Dispatches on the size of an element, for kernels that only move data. T is an unsigned integer of that size, or
/// std::complex<double> for 16 bytes. Throws Error for packed types and strings.
template <class F>
void dispatch_size(uint32_t dtype, F&& f) {
  switch (dtype_bits(dtype)) {
    case 8:
      return f.template operator()<uint8_t>();
    case 16:
      return f.template operator()<uint16_t>();
    case 32:
      return f.template operator()<uint32_t>();
    case 64:
      return f.template operator()<uint64_t>();
    case 128:
      return f.template operator()<std::complex<double>>();
    default:
      fail(TENON_UNIMPLEMENTED, "element type ", dtype_name(dtype), " is not supported here");
  }
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DISPATCH_HPP_
