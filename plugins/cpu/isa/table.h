// The hot float32 loops, compiled once per instruction set. They start no threads, report no errors and,
// except for Eigen's packing buffers in gemm, allocate nothing. Arrays need no alignment, and are the same or
// do not overlap.
#pragma once

#include <cstdint>

namespace tenon::cpu::isa {

// Groups of functions, each in a header of its own.
struct Forests;
struct Moves;
struct Pools;
struct Recurrent;
struct Reductions;
struct Resampling;

/// c[m, n] = a[m, k] * b[k, n], plus c when `accumulate`. Row-major; `ld` is the distance between stored
/// rows. A transposed operand is stored as [k, m] or [n, k].
template <class T>
struct Gemm {
  int64_t m, n, k;
  const T* a;
  int64_t lda;
  bool a_transposed;
  const T* b;
  int64_t ldb;
  bool b_transposed;
  T* c;
  int64_t ldc;
  bool accumulate;
};

/// Element by element; y may be x.
using Unary = void (*)(const float* x, float* y, int64_t n);
/// A stride is 1, or 0 to use one element for all. y may be a or b.
using Binary = void (*)(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* y,
                        int64_t n);

struct Table {
  const char* name;

  Unary exp, tanh, sigmoid, erf, relu, sqrt, neg, abs, gelu, gelu_tanh, silu, hard_swish;
  Binary add, sub, mul, div, max, min, pow;

  /// y = alpha * x + y.
  void (*axpy)(float alpha, const float* x, float* y, int64_t n);
  float (*dot)(const float* a, const float* b, int64_t n);
  float (*sum)(const float* x, int64_t n);
  float (*sum_of_squares)(const float* x, int64_t n);
  float (*max_of)(const float* x, int64_t n);  // n > 0; ignores NaN unless it is x[0]
  float (*min_of)(const float* x, int64_t n);

  /// One row of n > 0 elements; y may be x.
  void (*softmax)(const float* x, float* y, int64_t n);
  void (*log_softmax)(const float* x, float* y, int64_t n);
  /// y = (x - mean) / sqrt(variance + epsilon) * scale + bias; scale and bias have n elements or are NULL.
  void (*layer_norm)(const float* x, const float* scale, const float* bias, float* y, int64_t n,
                     float epsilon, float* out_mean, float* out_inverse_deviation);

  /// y = x / sqrt(mean of squares + epsilon), rounded, times scale. Returns the inverse of the root.
  double (*rms_norm)(const float* x, const float* scale, float* y, int64_t n, double epsilon);

  const Reductions* reduce;
  const Pools* pool;
  const Moves* move;
  const Recurrent* recurrent;
  const Resampling* resample;
  const Forests* forest;

  void (*half_to_float)(const uint16_t* x, float* y, int64_t n);
  void (*float_to_half)(const float* x, uint16_t* y, int64_t n);

  void (*gemm_f32)(const Gemm<float>& gemm);
  void (*gemm_f64)(const Gemm<double>& gemm);
};

const Table& table_generic();
const Table& table_avx2();
const Table& table_avx512();

}  // namespace tenon::cpu::isa
