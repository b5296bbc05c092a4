// Intrinsics: bits of numbers, conversions that saturate as the GPU's do, rounding modes, fast approximations.
#pragma once

template <class To, class From>
FAKE_CUDA To fake_cuda_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "");
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}
FAKE_CUDA int __float_as_int(float x) { return fake_cuda_bits<int>(x); }
FAKE_CUDA unsigned __float_as_uint(float x) { return fake_cuda_bits<unsigned>(x); }
FAKE_CUDA float __int_as_float(int x) { return fake_cuda_bits<float>(x); }
FAKE_CUDA float __uint_as_float(unsigned x) { return fake_cuda_bits<float>(x); }
FAKE_CUDA long long __double_as_longlong(double x) { return fake_cuda_bits<long long>(x); }
FAKE_CUDA double __longlong_as_double(long long x) { return fake_cuda_bits<double>(x); }
FAKE_CUDA int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
FAKE_CUDA int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
FAKE_CUDA double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(high) << 32 | static_cast<unsigned>(low));
}

/// NaN becomes 0 (of 64 bits: the top bit), what is too large the nearest limit.
template <class To>
inline To fake_cuda_saturated(double x) {
  constexpr bool is_signed = static_cast<To>(-1) < 0;
  constexpr To high = is_signed ? static_cast<To>((1ULL << (sizeof(To) * 8 - 1)) - 1) : static_cast<To>(-1);
  constexpr To low = is_signed ? static_cast<To>(-high - 1) : 0;
  if (x != x) return sizeof(To) == 8 ? static_cast<To>(1ULL << 63) : 0;
  if (x >= static_cast<double>(high)) return high;
  if (x <= static_cast<double>(low)) return low;
  return static_cast<To>(x);
}
#define FAKE_CUDA_TO_INTEGER(name, to, from)                                                        \
  FAKE_CUDA to name##_rn(from x) { return fake_cuda_saturated<to>(rint(static_cast<double>(x))); }  \
  FAKE_CUDA to name##_rz(from x) { return fake_cuda_saturated<to>(trunc(static_cast<double>(x))); } \
  FAKE_CUDA to name##_rd(from x) { return fake_cuda_saturated<to>(floor(static_cast<double>(x))); } \
  FAKE_CUDA to name##_ru(from x) { return fake_cuda_saturated<to>(ceil(static_cast<double>(x))); }
FAKE_CUDA_TO_INTEGER(__float2int, int, float)
FAKE_CUDA_TO_INTEGER(__float2uint, unsigned, float)
FAKE_CUDA_TO_INTEGER(__float2ll, long long, float)
FAKE_CUDA_TO_INTEGER(__float2ull, unsigned long long, float)
FAKE_CUDA_TO_INTEGER(__double2int, int, double)
FAKE_CUDA_TO_INTEGER(__double2uint, unsigned, double)
FAKE_CUDA_TO_INTEGER(__double2ll, long long, double)
FAKE_CUDA_TO_INTEGER(__double2ull, unsigned long long, double)
FAKE_CUDA float __int2float_rn(int x) { return static_cast<float>(x); }
FAKE_CUDA float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
FAKE_CUDA float __ll2float_rn(long long x) { return static_cast<float>(x); }
FAKE_CUDA float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
FAKE_CUDA double __int2double_rn(int x) { return x; }
FAKE_CUDA double __uint2double_rn(unsigned x) { return x; }
FAKE_CUDA double __ll2double_rn(long long x) { return static_cast<double>(x); }
FAKE_CUDA double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
FAKE_CUDA float __double2float_rn(double x) { return static_cast<float>(x); }

// Not contracted to a multiply-add: the compiler must not see through.
#define FAKE_CUDA_ALONE(type, value) \
  type out = value;                  \
  __asm__("" : "+x"(out));           \
  return out;
FAKE_CUDA float __fadd_rn(float x, float y){FAKE_CUDA_ALONE(float, x + y)} FAKE_CUDA
    float __fsub_rn(float x, float y){FAKE_CUDA_ALONE(float, x - y)} FAKE_CUDA
    float __fmul_rn(float x, float y){FAKE_CUDA_ALONE(float, x* y)} FAKE_CUDA
    double __dadd_rn(double x, double y){FAKE_CUDA_ALONE(double, x + y)} FAKE_CUDA
    double __dsub_rn(double x, double y){FAKE_CUDA_ALONE(double, x - y)} FAKE_CUDA
    double __dmul_rn(double x, double y){FAKE_CUDA_ALONE(double, x* y)} FAKE_CUDA
    float __fdiv_rn(float x, float y) {
  return x / y;
}
FAKE_CUDA double __ddiv_rn(double x, double y) { return x / y; }
FAKE_CUDA float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
FAKE_CUDA double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
FAKE_CUDA float __frcp_rn(float x) { return 1.0f / x; }
FAKE_CUDA float __fsqrt_rn(float x) { return sqrtf(x); }
FAKE_CUDA float __frsqrt_rn(float x) { return rsqrtf(x); }
FAKE_CUDA double __drcp_rn(double x) { return 1.0 / x; }
FAKE_CUDA double __dsqrt_rn(double x) { return sqrt(x); }

FAKE_CUDA float __expf(float x) { return expf(x); }
FAKE_CUDA float __exp10f(float x) { return exp10f(x); }
FAKE_CUDA float __logf(float x) { return logf(x); }
FAKE_CUDA float __log2f(float x) { return log2f(x); }
FAKE_CUDA float __log10f(float x) { return log10f(x); }
FAKE_CUDA float __sinf(float x) { return sinf(x); }
FAKE_CUDA float __cosf(float x) { return cosf(x); }
FAKE_CUDA float __tanf(float x) { return tanf(x); }
FAKE_CUDA float __tanhf(float x) { return tanhf(x); }
FAKE_CUDA float __powf(float x, float y) { return powf(x, y); }
FAKE_CUDA void __sincosf(float x, float* s, float* c) { sincosf(x, s, c); }
FAKE_CUDA float __fdividef(float x, float y) { return x / y; }
FAKE_CUDA float __saturatef(float x) { return saturate(x); }

// ---- What inline assembly is translated to (assembly.cc) ----

inline float fake_cuda_half_to_float(unsigned short bits) {
  const unsigned sign = static_cast<unsigned>(bits & 0x8000) << 16;
  const unsigned exponent = bits >> 10 & 31, mantissa = bits & 0x3FF;
  if (exponent == 31) {
    // A NaN becomes quiet.
    return __uint_as_float(sign | 0x7F800000 | mantissa << 13 | (mantissa != 0 ? 0x400000 : 0));
  }
  if (exponent != 0) return __uint_as_float(sign | (exponent + 112) << 23 | mantissa << 13);
  const float value = static_cast<float>(mantissa) * 5.9604644775390625e-8f;
  return sign != 0 ? -value : value;
}
/// Rounds to nearest, ties to even.
inline unsigned short fake_cuda_float_to_half(float value) {
  const unsigned bits = __float_as_uint(value);
  const unsigned sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
  if (rest > 0x7F800000) return 0x7FFF;  // as the GPU's NaN
  if (rest >= 0x477FF000) return static_cast<unsigned short>(sign | 0x7C00);
  if (rest < 0x33000001) return static_cast<unsigned short>(sign);
  if (rest < 0x38800000) {
    const unsigned shift = 126 - (rest >> 23), mantissa = (rest & 0x7FFFFF) | 0x800000;
    const unsigned kept = mantissa >> shift, lost = mantissa & ((1U << shift) - 1), half = 1U << (shift - 1);
    return static_cast<unsigned short>(sign |
                                       (kept + (lost > half || (lost == half && (kept & 1) != 0) ? 1 : 0)));
  }
  const unsigned moved = rest - 0x38000000;
  return static_cast<unsigned short>(sign | ((moved + 0xFFF + (moved >> 13 & 1)) >> 13));
}
inline float fake_cuda_bfloat_to_float(unsigned short bits) {
  return __uint_as_float(static_cast<unsigned>(bits) << 16);
}
inline unsigned short fake_cuda_float_to_bfloat(float value) {
  const unsigned bits = __float_as_uint(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FFF;
  return static_cast<unsigned short>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
