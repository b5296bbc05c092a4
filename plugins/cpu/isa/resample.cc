#include "isa/resample.h"

#include "isa/parts.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

#if defined(__AVX512F__)
constexpr int64_t kBlock = ResizeRow::kBlock;
#else
/// Elements from `i` on of a row, one by one.
inline void resize_elements(const ResizeRow& row, const float* x, float* y, int64_t i, int64_t end) {
  for (; i < end; ++i) {
    if (row.weight == nullptr) {
      __builtin_memcpy(y + i, x + row.index[i], sizeof(float));
      continue;
    }
    float sum = 0;
    for (int64_t t = 0; t < row.taps; ++t)
      sum += row.weight[t * row.padded + i] * x[row.index[t * row.padded + i]];
    y[i] = sum;
  }
}

#endif

#if defined(__AVX512F__)
/// The first `n` elements, zeros after them; n may be negative.
inline __m512 load_first(const float* from, int64_t n) {
  if (n >= kBlock) return _mm512_loadu_ps(from);
  const uint32_t mask = n <= 0 ? 0u : (1u << n) - 1u;
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from);
}

void resize_row(const ResizeRow& row, const float* x, float* y) {
  for (int64_t i = 0; i < row.out; i += kBlock) {
    __m512 sum = _mm512_setzero_ps();
    __m512 lower = sum, upper = sum;
    int32_t base = 0;
    if (row.base != nullptr) {
      base = row.base[i / kBlock];
      lower = load_first(x + base, row.in - base);
      upper = load_first(x + base + kBlock, row.in - base - kBlock);
    }
    for (int64_t t = 0; t < row.taps; ++t) {
      const __m512i index = _mm512_loadu_si512(row.index + t * row.padded + i);
      const __m512 element =
          row.base != nullptr
              ? _mm512_permutex2var_ps(lower, _mm512_sub_epi32(index, _mm512_set1_epi32(base)), upper)
              : _mm512_i32gather_ps(index, x, 4);
      sum = row.weight == nullptr
                ? element
                : _mm512_fmadd_ps(_mm512_loadu_ps(row.weight + t * row.padded + i), element, sum);
    }
    const int64_t left = row.out - i;
    if (left >= kBlock) {
      _mm512_storeu_ps(y + i, sum);
    } else {
      _mm512_mask_storeu_ps(y + i, static_cast<__mmask16>((1u << left) - 1u), sum);
    }
  }
}
#elif defined(__AVX2__)
void resize_row(const ResizeRow& row, const float* x, float* y) {
  int64_t i = 0;
  for (; i + 8 <= row.out; i += 8) {
    __m256 sum = _mm256_setzero_ps();
    for (int64_t t = 0; t < row.taps; ++t) {
      const __m256i index =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row.index + t * row.padded + i));
      const __m256 element = _mm256_i32gather_ps(x, index, 4);
      sum = row.weight == nullptr
                ? element
                : _mm256_fmadd_ps(_mm256_loadu_ps(row.weight + t * row.padded + i), element, sum);
    }
    _mm256_storeu_ps(y + i, sum);
  }
  resize_elements(row, x, y, i, row.out);
}
#else
void resize_row(const ResizeRow& row, const float* x, float* y) { resize_elements(row, x, y, 0, row.out); }
#endif

void blend(const float* x, const int64_t* offsets, const float* weights, int64_t taps, float* y, int64_t n) {
  if (taps == 2) {
    const float *a = x + offsets[0], *b = x + offsets[1];
    const float u = weights[0], v = weights[1];
    for (int64_t i = 0; i < n; ++i) y[i] = u * a[i] + v * b[i];
    return;
  }
  for (int64_t t = 0; t < taps; ++t) {
    const float* line = x + offsets[t];
    const float w = weights[t];
    if (t == 0) {
      for (int64_t i = 0; i < n; ++i) y[i] = w * line[i];
    } else {
      for (int64_t i = 0; i < n; ++i) y[i] += w * line[i];
    }
  }
}

}  // namespace

void fill_resample(Table& table) {
  static const Resampling kResampling = {resize_row, blend};
  table.resample = &kResampling;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
