#include "isa/math.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

template <class F>
inline void map(const float* x, float* y, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

template <class F>
inline void zip(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* y, int64_t n,
                F f) {
  if (n == 0) return;
  if (a_stride == 1 && b_stride == 1) {
    for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
  } else if (a_stride == 0 && b_stride == 0) {
    const float value = f(*a, *b);
    for (int64_t i = 0; i < n; ++i) y[i] = value;
  } else if (b_stride == 0) {
    const float value = *b;
    for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], value);
  } else {
    const float value = *a;
    for (int64_t i = 0; i < n; ++i) y[i] = f(value, b[i]);
  }
}

// NaN wins, as in ONNX's Max and Min.
inline float larger(float a, float b) { return a != a ? a : select(a > b, a, b); }
inline float smaller(float a, float b) { return a != a ? a : select(a < b, a, b); }

void exp(const float* x, float* y, int64_t n) {
  map_fast(x, y, n, [](auto v) { return fast_exp(v); });
}
void tanh(const float* x, float* y, int64_t n) {
  map_fast(x, y, n, [](auto v) { return fast_tanh(v); });
}
void sigmoid(const float* x, float* y, int64_t n) {
  map_fast(x, y, n, [](auto v) { return fast_sigmoid(v); });
}
void erf(const float* x, float* y, int64_t n) {
  map_fast(x, y, n, [](auto v) { return fast_erf(v); });
}
void relu(const float* x, float* y, int64_t n) {
  map(x, y, n, [](float v) { return select(v < 0.0f, 0.0f, v); });
}
void sqrt(const float* x, float* y, int64_t n) {
  map(x, y, n, [](float v) { return __builtin_sqrtf(v); });
}
void neg(const float* x, float* y, int64_t n) {
  map(x, y, n, [](float v) { return -v; });
}
void abs(const float* x, float* y, int64_t n) {
  map(x, y, n, [](float v) { return __builtin_fabsf(v); });
}
void gelu(const float* x, float* y, int64_t n) {
  map_fast(x, y, n, [](auto v) { return fast_gelu(v); });
}
// 0.5 v (1 + tanh(u)) is v sigmoid(2 u), which loses nothing where tanh is near -1.
void gelu_tanh(const float* x, float* y, int64_t n) {
  map_fast(x, y, n, [](auto v) {
    return v / one_plus_exp_of_opposite(v * (1.5957691216f + 0.0713548163f * (v * v)));
  });
}
void silu(const float* x, float* y, int64_t n) {
  map_fast(x, y, n, [](auto v) { return v / one_plus_exp_of_opposite(v); });
}
void hard_swish(const float* x, float* y, int64_t n) {
  map(x, y, n, [](float v) {
    const float gate = v * (1.0f / 6.0f) + 0.5f;
    return v * select(gate < 0.0f, 0.0f, select(gate > 1.0f, 1.0f, gate));
  });
}

#define TENON_ISA_BINARY_(name, expression)                                                            \
  void name(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* y, int64_t n) { \
    zip(a, a_stride, b, b_stride, y, n, [](float u, float v) { return expression; });                  \
  }
TENON_ISA_BINARY_(add, u + v)
TENON_ISA_BINARY_(sub, u - v)
TENON_ISA_BINARY_(mul, u* v)
TENON_ISA_BINARY_(div, u / v)
TENON_ISA_BINARY_(max, larger(u, v))
TENON_ISA_BINARY_(min, smaller(u, v))
#undef TENON_ISA_BINARY_

void axpy(float alpha, const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += alpha * x[i];
}

#if defined(__F16C__)
void half_to_float(const uint16_t* x, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  }
  for (; i < n; ++i) y[i] = _cvtsh_ss(x[i]);
}
void float_to_half(const float* x, uint16_t* y, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), 0));
  }
  for (; i < n; ++i) y[i] = _cvtss_sh(x[i], 0);
}
#else
void half_to_float(const uint16_t* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t sign = (x[i] & 0x8000u) << 16, magnitude = x[i] & 0x7FFFu;
    const float small = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
    const uint32_t normal = (magnitude << 13) + (magnitude >= 0x7C00u ? 0x70000000u : 0x38000000u);
    y[i] = from_bits((magnitude < 0x400u ? to_bits(small) : normal) | sign);
  }
}
void float_to_half(const float* x, uint16_t* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t raw = to_bits(x[i]), sign = (raw >> 16) & 0x8000u, magnitude = raw & 0x7FFFFFFFu;
    const uint32_t small = to_bits(from_bits(magnitude) + 0.5f) - 0x3F000000u;
    const uint32_t normal = (magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    const uint32_t special = magnitude > 0x7F800000u ? 0x7E00u : 0x7C00u;
    const uint32_t finite = magnitude < 0x38800000u ? small : normal;
    y[i] = static_cast<uint16_t>(sign | (magnitude >= 0x47800000u ? special : finite));
  }
}
#endif

}  // namespace

void fill_elementwise(Table& t) {
  t.exp = exp, t.tanh = tanh, t.sigmoid = sigmoid, t.erf = erf, t.relu = relu, t.sqrt = sqrt, t.neg = neg,
  t.abs = abs;
  t.gelu = gelu, t.gelu_tanh = gelu_tanh, t.silu = silu, t.hard_swish = hard_swish;
  t.add = add, t.sub = sub, t.mul = mul, t.div = div, t.max = max, t.min = min;
  t.axpy = axpy, t.half_to_float = half_to_float, t.float_to_half = float_to_half;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
