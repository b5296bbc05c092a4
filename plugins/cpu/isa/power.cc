// Powers of float32, computed in double and rounded once: at most 0.51 ulp. The special cases are those of C's pow.
#include "isa/parts.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

inline double from_bits(uint64_t bits) { return __builtin_bit_cast(double, bits); }
inline uint64_t to_bits(double x) { return __builtin_bit_cast(uint64_t, x); }
inline double select(bool c, double a, double b) { return c ? a : b; }

constexpr double kInfinity = __builtin_inf(), kNan = __builtin_nan("");
// Adding it rounds to an integer, which then sits in the low bits.
constexpr double kRound = 6755399441055744.0;

/// log2 of a positive normal number, to a relative error of 2e-12.
inline double log2_of(double x) {
  // The mantissa m is in [sqrt(1/2), sqrt(2)). The exponent k gets a bias, so that shifts are logical.
  const uint64_t root = 0x3FE6A09E667F3BCDull, bias = 1024;
  const uint64_t biased = (to_bits(x) - root + (bias << 52)) >> 52;
  const double m = from_bits(to_bits(x) - ((biased - bias) << 52));
  const double k = from_bits(biased | 0x4330000000000000ull) - (4503599627370496.0 + 1024.0);
  // log(m) = 2 atanh(s)
  const double s = (m - 1) / (m + 1), u = s * s;
  double p = 1.0 / 13;
  p = p * u + 1.0 / 11;
  p = p * u + 1.0 / 9;
  p = p * u + 1.0 / 7;
  p = p * u + 1.0 / 5;
  p = p * u + 1.0 / 3;
  p = p * u + 1.0;
  return p * s * 2.8853900817779268 + k;
}

/// 2^t for |t| <= 400, to a relative error of 3e-10.
inline double exp2_of(double t) {
  const double shifted = t + kRound;
  const double r = (t - (shifted - kRound)) * 0.69314718055994531;
  double p = 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  return p * from_bits((to_bits(shifted) + 1023) << 52);
}

inline float power(float base, float exponent) {
  const double x = static_cast<double>(base), y = static_cast<double>(exponent);
  const double magnitude = from_bits(to_bits(x) & 0x7FFFFFFFFFFFFFFFull);
  double log = log2_of(magnitude);
  log = select(magnitude == 0, -kInfinity, log);
  log = select(magnitude == kInfinity, kInfinity, log);
  double t = y * log;
  t = select(t > 300.0, 300.0, t);
  t = select(t < -300.0, -300.0, t);
  double out = exp2_of(t);
  // A float32 of 2^24 or more is even.
  const double size = from_bits(to_bits(y) & 0x7FFFFFFFFFFFFFFFull);
  const double whole = select(size > 1073741824.0, 1073741824.0, size), half = whole * 0.5;
  const bool is_whole = (whole + kRound) - kRound == whole;
  const bool is_odd = is_whole & ((half + kRound) - kRound != half);
  const uint64_t sign = to_bits(x) & (is_odd ? 0x8000000000000000ull : 0);
  out = from_bits(to_bits(out) | sign);
  out = select((x < 0) & (magnitude != kInfinity) & !is_whole, kNan, out);
  out = select((x != x) | (y != y), x + y, out);
  // Where the logarithm is 0 or the exponent is, whatever the other.
  out = select((y == 0) | (x == 1) | ((magnitude == 1) & (size == kInfinity)), 1.0, out);
  return static_cast<float>(out);
}

template <class F>
void map(const float* x, float* y, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

/// The root, with pow's results for -0 and for minus infinity.
inline double root(double x) { return select(x == -kInfinity, kInfinity, __builtin_sqrt(x) + 0.0); }

void to_the(const float* x, float exponent, float* y, int64_t n) {
  if (exponent == 2.0f) return map(x, y, n, [](float v) { return v * v; });
  if (exponent == 0.5f)
    return map(x, y, n, [](float v) { return static_cast<float>(root(static_cast<double>(v))); });
  if (exponent == -0.5f)
    return map(x, y, n, [](float v) { return static_cast<float>(1.0 / root(static_cast<double>(v))); });
  if (exponent == -1.0f) return map(x, y, n, [](float v) { return 1.0f / v; });
  if (exponent == 3.0f) {
    return map(x, y, n, [](float v) {
      const double wide = static_cast<double>(v);
      return static_cast<float>(wide * wide * wide);
    });
  }
  if (exponent == 1.0f) return map(x, y, n, [](float v) { return v; });
  map(x, y, n, [exponent](float v) { return power(v, exponent); });
}

void pow(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* y, int64_t n) {
  if (n == 0) return;
  if (b_stride == 0 && a_stride == 1) {
    to_the(a, *b, y, n);
  } else if (b_stride == 0) {
    to_the(a, *b, y, 1);
    for (int64_t i = 1; i < n; ++i) y[i] = y[0];
  } else if (a_stride == 0) {
    const float base = *a;
    for (int64_t i = 0; i < n; ++i) y[i] = power(base, b[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = power(a[i], b[i]);
  }
}

}  // namespace

void fill_power(Table& table) { table.pow = pow; }

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
