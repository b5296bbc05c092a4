// The operands of attention's products. They are rows of words of 32 bits, which lie in floats: a word is a float32, or a pair of
// bfloat16 that follow each other along the sum, with 0 after an odd last one.
#pragma once

#include "isa/compute_parts.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {

#if defined(__AVX512BF16__)
constexpr int64_t kPair = 2;
#else
constexpr int64_t kPair = 1;
#endif
static inline int64_t words_of(int64_t n) { return (n + kPair - 1) / kPair; }
static inline int64_t padded(int64_t n) { return vectors_of(n) * kLanes; }

#if defined(__AVX512BF16__)

/// Pairs of the elements of `low`, then those of `high`, which come next in the row.
static inline Floats pairs_of(Floats low, Floats high) {
  const __m512bh pairs = _mm512_cvtne2ps_pbh(high, low);
  return (Floats)pairs;
}

static inline Floats add_products(Floats sum, Floats a, Floats b) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

/// Weights [at, at + kLanes) of a row; `at` is a multiple of kLanes.
static inline void store_weights(float* row, int64_t at, Floats weights) {
  const __m256bh shorts = _mm512_cvtneps_pbh(weights);
  __builtin_memcpy(reinterpret_cast<char*>(row) + 2 * at, &shorts, sizeof shorts);
}

/// Elements [at, at + kLanes) of n, with zeros after the last.
static inline Floats load_rest(const float* x, int64_t at, int64_t n) {
  return at < n ? load_first(x + at, least(n - at, kLanes)) : Floats{};
}

static void pack_row(const float* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; i += 2 * kLanes)
    store_first(to + i / 2, pairs_of(load_rest(from, i, n), load_rest(from, i + kLanes, n)),
                least(words_of(n) - i / 2, kLanes));
}

static void pack_keys(const float* keys, int64_t stride, int64_t n, int64_t size, float* out) {
  float pairs[kVectors * kLanes * kLanes];  // a row of kLanes words for each key of a panel
  const int64_t words = words_of(size);
  for (int64_t p = 0; p < panels_of(n); ++p) {
    const int64_t column = column_of(p, n), width = column_of(p + 1, n) - column,
                  columns = least(width, n - column);
    float* panel = out + column * words;
    for (int64_t j = columns * kLanes; j < width * kLanes; ++j) pairs[j] = 0.0f;
    for (int64_t i = 0; i < size; i += 2 * kLanes) {
      const float* key = keys + column * stride;
      for (int64_t j = 0; j < columns; ++j, key += stride)
        store(pairs + j * kLanes, pairs_of(load_rest(key, i, size), load_rest(key, i + kLanes, size)));
      transpose_words(pairs, kLanes, panel + i / 2 * width, width, least(words - i / 2, kLanes), width);
    }
  }
}

static void pack_values(const float* values, int64_t stride, int64_t n, int64_t size, float* out) {
  // Element j of one row, then element j of the next one.
  const __m512i turn = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                                        22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  for (int64_t p = 0; p < panels_of(size); ++p) {
    const int64_t column = column_of(p, size), width = column_of(p + 1, size) - column;
    float* to = out + column * words_of(n);
    for (int64_t i = 0; i < n; i += 2, to += width) {
      const float *row = values + i * stride, *next = row + stride;
      for (int64_t j = 0; j < width; j += kLanes) {
        const Floats a = load_rest(row, column + j, size),
                     b = i + 1 < n ? load_rest(next, column + j, size) : Floats{};
        store(to + j, (Floats)_mm512_permutexvar_epi16(turn, (__m512i)pairs_of(a, b)));
      }
    }
  }
}

static bool is_packed(int64_t, int64_t) { return false; }

#else

static inline Floats add_products(Floats sum, Floats a, Floats b) { return sum + a * b; }

static inline void store_weights(float* row, int64_t at, Floats weights) { store(row + at, weights); }

static void pack_row(const float* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

static void pack_keys(const float* keys, int64_t stride, int64_t n, int64_t size, float* out) {
  for (int64_t p = 0; p < panels_of(n); ++p) {
    const int64_t column = column_of(p, n), width = column_of(p + 1, n) - column,
                  columns = least(width, n - column);
    float* panel = out + column * size;
    transpose_words(keys + column * stride, stride, panel, width, size, columns);
    if (columns == width) continue;
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = columns; j < width; ++j) panel[i * width + j] = 0.0f;
    }
  }
}

static void pack_values(const float* values, int64_t stride, int64_t n, int64_t size, float* out) {
  for (int64_t p = 0; p < panels_of(size); ++p) {
    const int64_t column = column_of(p, size), width = column_of(p + 1, size) - column,
                  columns = least(width, size - column), whole = columns / kLanes * kLanes;
    float* to = out + column * n;
    const float* from = values + column;
    for (int64_t i = 0; i < n; ++i, from += stride, to += width) {
      for (int64_t j = 0; j < whole; j += kLanes) store(to + j, load(from + j));
      for (int64_t j = whole; j < width; ++j) to[j] = j < columns ? from[j] : 0.0f;
    }
  }
}

static bool is_packed(int64_t stride, int64_t size) {
  return stride == size && size % kLanes == 0 && panels_of(size) == 1;
}

#endif

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
