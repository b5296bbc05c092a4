// Sums, differences and products of ONNX's integers wrap around, as NumPy's do. C++ leaves them undefined.
#pragma once

#include <functional>
#include <type_traits>

namespace tenon::cpu {

/// `op` of a and b: of integers modulo 2^bits, of floating-point numbers as it is. `op` gets at least `unsigned`, because
/// uint16_t would become int, whose products overflow.
template <class Op, class T>
constexpr T wrapping(Op op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
    return static_cast<T>(op(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return static_cast<T>(op(a, b));
  }
}
template <class T>
constexpr T wrapping_add(T a, T b) {
  return wrapping(std::plus<>(), a, b);
}
template <class T>
constexpr T wrapping_sub(T a, T b) {
  return wrapping(std::minus<>(), a, b);
}
template <class T>
constexpr T wrapping_mul(T a, T b) {
  return wrapping(std::multiplies<>(), a, b);
}

}  // namespace tenon::cpu
