// The operations of element-wise steps (tenon/ep/device/elementwise.hpp) in CUDA C++, one function each in the namespace `op`.
// C is the type in which a step computes: bool, an integer, float or double. Parameters are float, as attributes are.
#pragma once

#include <string_view>

namespace tenon::cuda {

inline constexpr std::string_view kOperations = R"CU(
namespace op {
template <class C> struct Type { static constexpr bool kIsReal = false; typedef uint32 Wide; };
template <> struct Type<float> { static constexpr bool kIsReal = true; typedef float Wide; };
template <> struct Type<double> { static constexpr bool kIsReal = true; typedef double Wide; };
template <> struct Type<int64> { static constexpr bool kIsReal = false; typedef uint64 Wide; };
template <> struct Type<uint64> { static constexpr bool kIsReal = false; typedef uint64 Wide; };

#define UNARY(name) template <class C> __device__ inline C name(C x)
#define WITH_1(name) template <class C> __device__ inline C name(C x, float p_)
#define WITH_2(name) template <class C> __device__ inline C name(C x, float p_, float q_)
#define BINARY(name) template <class C> __device__ inline C name(C x, C y)
#define COMPARE(name, comparison) \
  template <class C> __device__ inline bool name(C x, C y) { return comparison; }
#define IF_REAL if constexpr (Type<C>::kIsReal)
// Integers wrap around: the wide type is unsigned, so that nothing overflows in the sense of the language.
#define WRAPPED(x, sign, y) ((C)((typename Type<C>::Wide)(x) sign (typename Type<C>::Wide)(y)))
// A product and a sum must not become one instruction: x * y - x * y is 0.
#define ROUNDED(name, function, sign)                                      \
  template <class C> __device__ inline C name(C x, C y) { return WRAPPED(x, sign, y); } \
  template <> __device__ inline float name<float>(float x, float y) { return __f##function##_rn(x, y); } \
  template <> __device__ inline double name<double>(double x, double y) { return __d##function##_rn(x, y); }
#define CUT(v, low, high) ((v) < (low) ? (low) : (v) > (high) ? (high) : (v))

UNARY(Copy) { return x; }
ROUNDED(Add, add, +)
ROUNDED(Sub, sub, -)
ROUNDED(Mul, mul, *)
template <class C> __device__ inline bool is_negative(C x) {
  if constexpr ((C)-1 < (C)0) return x < 0;
  return false;
}
// Division by zero, and of the lowest number by -1, is not defined for integers. Both get a result.
template <class C> __device__ inline bool is_minus_one(C y) { return (C)-1 < (C)0 && y == (C)-1; }
BINARY(Div) {
  IF_REAL {
    return x / y;
  } else {
    return y == 0 ? (C)0 : is_minus_one(y) ? WRAPPED(0, -, x) : (C)(x / y);
  }
}
BINARY(Fmod) {
  IF_REAL {
    return fmod(x, y);
  } else {
    return y == 0 || is_minus_one(y) ? (C)0 : (C)(x % y);
  }
}
BINARY(Mod) {
  const C r = Fmod<C>(x, y);
  IF_REAL {
    return r == 0 ? copysign(r, y) : (r < 0) != (y < 0) ? r + y : r;
  } else {
    return r != 0 && is_negative(r) != is_negative(y) ? WRAPPED(r, +, y) : r;
  }
}
// The power of an integer to an integer wraps around. 0 to a negative power is 0.
template <class C, class E> __device__ inline C whole_power(C x, E e) {
  if (is_negative(e)) return x == 1 ? (C)1 : is_minus_one(x) ? (e % 2 == 0 ? (C)1 : x) : (C)0;
  uint64 r = 1, square = (uint64)x;
  for (uint64 rest = (uint64)e; rest != 0; rest >>= 1, square *= square) {
    if (rest & 1) r *= square;
  }
  return (C)r;
}
template <class C> __device__ inline C integer_of(double x);
template <class C, class E> __device__ inline C Pow(C x, E e) {
  IF_REAL {
    return e == 2 ? x * x : pow(x, (C)e);
  } else if constexpr (Type<E>::kIsReal) {
    const bool is_whole = e == floor(e) && fabs(e) < (E)1e15;
    return is_whole ? whole_power<C, int64>(x, (int64)e) : integer_of<C>(pow((double)x, (double)e));
  } else {
    return whole_power<C, E>(x, e);
  }
}
BINARY(PRelu) { return is_negative(x) ? Mul<C>(x, y) : x; }
BINARY(Min) { return x != x ? x : y != y || y < x ? y : x; }
BINARY(Max) { return x != x ? x : y != y || y > x ? y : x; }
COMPARE(Equal, x == y)
COMPARE(Greater, x > y)
COMPARE(Less, x < y)
COMPARE(GreaterOrEqual, x >= y)
COMPARE(LessOrEqual, x <= y)
COMPARE(And, x && y)
COMPARE(Or, x || y)
COMPARE(Xor, !x != !y)
template <class C> __device__ inline bool Not(C x) { return !x; }
BINARY(BitAnd) { return (C)(x & y); }
BINARY(BitOr) { return (C)(x | y); }
BINARY(BitXor) { return (C)(x ^ y); }
UNARY(BitNot) { return (C)~x; }
BINARY(ShiftLeft) { return (uint64)y >= 8 * sizeof(C) ? (C)0 : WRAPPED(x, <<, y); }
BINARY(ShiftRight) { return (uint64)y >= 8 * sizeof(C) ? (C)0 : (C)(x >> y); }
template <class C> __device__ inline C Where(bool x, C y, C z) { return x ? y : z; }
WITH_2(Clip) { return x < (C)p_ ? (C)p_ : x > (C)q_ ? (C)q_ : x; }
WITH_1(Divide) { return x / (C)p_; }
UNARY(Abs) {
  IF_REAL {
    return fabs(x);
  } else {
    return x < 0 ? WRAPPED(0, -, x) : x;
  }
}
UNARY(Neg) {
  IF_REAL {
    return -x;
  } else {
    return WRAPPED(0, -, x);
  }
}
UNARY(Sign) { return x > 0 ? (C)1 : x < 0 ? (C)-1 : x; }
UNARY(Relu) { return x < 0 ? (C)0 : x; }
WITH_1(LeakyRelu) { return x < 0 ? (C)p_ * x : x; }
WITH_1(Elu) { return x < 0 ? (C)p_ * expm1(x) : x; }
WITH_2(Selu) { return x <= 0 ? (C)q_ * ((C)p_ * expm1(x)) : (C)q_ * x; }
WITH_1(Celu) { return x < 0 ? (C)p_ * expm1(x / (C)p_) : x; }
WITH_1(ThresholdedRelu) { return x > (C)p_ ? x : (C)0; }
WITH_2(HardSigmoid) {
  const C v = (C)p_ * x + (C)q_;
  return CUT(v, (C)0, (C)1);
}
UNARY(HardSwish) {
  const C v = x / (C)6 + (C)0.5;
  return x * CUT(v, (C)0, (C)1);
}
UNARY(Sigmoid) { return (C)1 / ((C)1 + exp(-x)); }
WITH_1(Swish) { return x / ((C)1 + exp(-(C)p_ * x)); }
UNARY(Tanh) { return tanh(x); }
UNARY(Softplus) { return fmax(x, (C)0) + log1p(exp(-fabs(x))); }
UNARY(Softsign) { return x / ((C)1 + fabs(x)); }
UNARY(Mish) { return x * tanh(Softplus<C>(x)); }
// Both avoid 1 + f(x): near f(x) = -1 it loses digits, and the factor x enlarges the error.
UNARY(Gelu) { return (C)0.5 * x * erfc(x * (C)-0.70710678118654752440); }
UNARY(GeluTanh) { return x / ((C)1 + exp((C)-1.5957691216057308 * (x + (C)0.044715 * x * x * x))); }
WITH_2(Shrink) { return x < -(C)q_ ? x + (C)p_ : x > (C)q_ ? x - (C)p_ : (C)0; }
UNARY(Erf) { return erf(x); }
UNARY(Exp) { return exp(x); }
UNARY(Log) { return log(x); }
UNARY(Sqrt) { return sqrt(x); }
UNARY(Reciprocal) { return (C)1 / x; }
UNARY(Floor) { return floor(x); }
UNARY(Ceil) { return ceil(x); }
UNARY(Round) { return rint(x); }
UNARY(Sin) { return sin(x); }
UNARY(Cos) { return cos(x); }
UNARY(Tan) { return tan(x); }
UNARY(Asin) { return asin(x); }
UNARY(Acos) { return acos(x); }
UNARY(Atan) { return atan(x); }
UNARY(Sinh) { return sinh(x); }
UNARY(Cosh) { return cosh(x); }
UNARY(Asinh) { return asinh(x); }
UNARY(Acosh) { return acosh(x); }
UNARY(Atanh) { return atanh(x); }
template <class C> __device__ inline bool IsNaN(C x) { return x != x; }
template <class C> __device__ inline bool IsInf(C x, float p_, float q_) {
  return (p_ != 0 && x == (C)-INFINITY) || (q_ != 0 && x == (C)INFINITY);
}

// Casts round towards zero. NaN and numbers out of range become the lowest number of 64 bits, of which smaller integers keep the
// low bits: so do processors, and the cpu provider.
template <class F> __device__ inline int64 int64_of(F x) {
  return x >= (F)-9223372036854775808.0 && x < (F)9223372036854775808.0 ? (int64)x : (int64)((uint64)1 << 63);
}
// Rounds to odd, so that rounding once more gives what rounding once would.
__device__ inline float narrowed(double x) {
  const float r = (float)x;
  if (x != x || (double)r == x) return r;
  const bool is_too_large = r > 0 ? (double)r > x : r < 0 ? (double)r < x : false;
  return __int_as_float((__float_as_int(r) - (is_too_large ? 1 : 0)) | 1);
}
template <class R, class F> struct CastTo {
  static __device__ inline R of(F x) {
    if constexpr (Type<R>::kIsReal || !Type<F>::kIsReal) {
      return (R)x;
    } else if constexpr (sizeof(R) == 8 && (R)-1 > (R)0) {
      return x >= (F)9223372036854775808.0 && x < (F)18446744073709551616.0 ? (R)x : (R)int64_of(x);
    } else {
      return (R)int64_of(x);
    }
  }
};
template <class F> struct CastTo<bool, F> {
  static __device__ inline bool of(F x) { return x != 0; }
};
template <class F> struct CastTo<half, F> {
  static __device__ inline half of(F x) { return half(sizeof(F) > 4 ? narrowed((double)x) : (float)x); }
};
template <class F> struct CastTo<bfloat, F> {
  static __device__ inline bfloat of(F x) {
    return bfloat(sizeof(F) > 2 && !(Type<F>::kIsReal && sizeof(F) == 4) ? narrowed((double)x) : (float)x);
  }
};
template <class R, class F> __device__ inline R Cast(F x) { return CastTo<R, F>::of(x); }
// Of a power: what an int (for uint32 and 64 bits: an int64) does not hold becomes the lowest one, as on the cpu provider.
template <class C> __device__ inline C integer_of(double x) {
  if constexpr (sizeof(C) < 4 || (sizeof(C) == 4 && (C)-1 < (C)0)) {
    return (C)(x >= -2147483648.0 && x < 2147483648.0 ? (int)x : (int)((uint32)1 << 31));
  } else {
    return CastTo<C, double>::of(x);
  }
}

// Four neighbours, loaded and stored at once.
template <class T> struct alignas(sizeof(T) > 4 ? 16 : 4 * sizeof(T)) Four { T v[4]; };
template <class T> __device__ inline bool fits_four(const T* x) { return (uint64)x % alignof(Four<T>) == 0; }
// `step`: 0 if all four are the same element.
template <class T> __device__ inline Four<T> load_four(const T* x, int64 i, int step) {
  if (step != 0) return *(const Four<T>*)(x + i);
  return {x[0], x[0], x[0], x[0]};
}
}  // namespace op
)CU";

}  // namespace tenon::cuda
