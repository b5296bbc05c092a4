// What the files behind Compute share: helpers for loops over registers, and the functions of each file.
#pragma once

#include "isa/compute.h"
#include "isa/vector.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {

constexpr int64_t kLanes = kFloats;
// A tile of a product: 6 rows by 4 registers are 24 sums, 4 weights and a factor in 32 registers; 12, 2 and 1 of 16.
#if defined(__AVX512F__)
constexpr int64_t kVectors = 4, kRows = 6;
#elif defined(__AVX2__)
constexpr int64_t kVectors = 2, kRows = 6;
#else
constexpr int64_t kVectors = 2, kRows = 4;
#endif

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

// A packed matrix with n columns is panels (panels.cc), each with a few registers of columns, row after row.
static inline int64_t vectors_of(int64_t columns) { return (columns + kLanes - 1) / kLanes; }
static inline int64_t panels_of(int64_t n) { return (vectors_of(n) + kVectors - 1) / kVectors; }
/// The first column of a panel; for the number of panels, the columns with padding.
static inline int64_t column_of(int64_t panel, int64_t n) {
  return panel * vectors_of(n) / panels_of(n) * kLanes;
}

/// What loops that are written once for registers and for single floats need: where a tensor has fewer channels than a register
/// has lanes, they take one at a time.
template <class T>
static inline T load_as(const float* x) {
  T out;
  __builtin_memcpy(&out, x, sizeof out);
  return out;
}
static inline void store(float* y, float v) { *y = v; }
/// Where a register of channels begins: the last one overlaps the one before it, and both compute the same. There are at least
/// kLanes channels.
static inline int64_t whole_vector(int64_t first, int64_t channels) {
  return least(first, channels - kLanes);
}

/// min(max(x, low), high); NaN stays NaN, since these instructions return their second operand then.
static inline Floats clamp(Floats x, Floats low, Floats high) {
#if defined(__AVX512F__)
  return _mm512_min_ps(high, _mm512_max_ps(low, x));
#elif defined(__AVX2__)
  return _mm256_min_ps(high, _mm256_max_ps(low, x));
#else
  x = x < low ? low : x;
  return x > high ? high : x;
#endif
}

static inline float clamp(float x, float low, float high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

/// The larger one; b if either is NaN.
static inline Floats larger(Floats a, Floats b) {
#if defined(__AVX512F__)
  return _mm512_max_ps(a, b);
#elif defined(__AVX2__)
  return _mm256_max_ps(a, b);
#else
  return a > b ? a : b;
#endif
}
static inline float larger(float a, float b) { return a > b ? a : b; }

/// A clamp that begins the steps of a result: it runs in registers, before the result is stored.
struct Limits {
  bool set = false;
  float low = 0, high = 0;
};
/// Takes the clamp off, if there is one.
static inline Limits take_limits(Chain& chain) {
  if (chain.count == 0 || chain.steps->kind != Step::Kind::kClamp) return {};
  const Limits out{true, chain.steps->alpha, chain.steps->beta};
  ++chain.steps, --chain.count;
  return out;
}
static inline Floats limited(Floats v, const Limits& l) {
  return l.set ? clamp(v, all_of(l.low), all_of(l.high)) : v;
}
static inline float limited(float v, const Limits& l) { return l.set ? clamp(v, l.low, l.high) : v; }

/// y[rows, columns], which begins at [row, column] of the whole result, goes through the steps in place.
void apply(const Chain& chain, float* y, int64_t ld, int64_t row, int64_t rows, int64_t column,
           int64_t columns);

void fill_panels(Compute& compute);
void fill_dots(Compute& compute);
void fill_groups(Compute& compute);
void fill_windows(Compute& compute);
void fill_winograd(Compute& compute);
void fill_chain(Compute& compute);

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
