// Matrix products with a few columns. A panel would waste most of its registers, so registers hold neighbouring factors of one sum.
#include "isa/compute_parts.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

inline float sum_of(Floats x) {
  float lanes[kLanes];
  store(lanes, x);
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

/// Rows [row, row + kAt). A row's sums do not depend on kAt.
template <int kColumns, int kAt>
void dot_rows(const Product& p, int64_t row) {
  const int64_t length = p.taps * p.k, whole = p.k / kLanes * kLanes, rest = p.k - whole;
  Floats sums[kAt][kColumns];
  for (int r = 0; r < kAt; ++r) {
    for (int n = 0; n < kColumns; ++n) sums[r][n] = Floats{};
  }
  for (int64_t tap = 0; tap < p.taps; ++tap) {
    const float *x[kAt], *w = p.b + tap * p.k;
    for (int r = 0; r < kAt; ++r) {
      const int64_t place = p.places == nullptr ? row + r : p.places[(row + r) * p.taps + tap];
      x[r] = place < 0 ? p.zeros : p.a + place * p.lda;
    }
    const auto add = [&](auto at) {
      for (int n = 0; n < kColumns; ++n) {
        const Floats weights = at(w + n * length);
        for (int r = 0; r < kAt; ++r) sums[r][n] += at(x[r]) * weights;
      }
    };
    for (int64_t i = 0; i < whole; i += kLanes) add([=](const float* from) { return load(from + i); });
    if (rest != 0) add([=](const float* from) { return load_first(from + whole, rest); });
  }
  for (int r = 0; r < kAt; ++r) {
    for (int n = 0; n < kColumns; ++n)
      p.c[(row + r) * p.ldc + n] = sum_of(sums[r][n]) + (p.bias == nullptr ? 0.0f : p.bias[n]);
  }
}

template <int kColumns>
void dot_rows(const Product& p, int64_t begin, int64_t end) {
  constexpr int64_t kAt = kColumns == 1 ? 8 : kColumns == 2 ? 4 : 2;
  int64_t row = begin;
  for (; row + kAt <= end; row += kAt) dot_rows<kColumns, kAt>(p, row);
  for (; row < end; ++row) dot_rows<kColumns, 1>(p, row);
}

void dots(const Product& p, int64_t begin, int64_t end) {
  constexpr int64_t kNear = 64;  // rows whose results are in a cache when the steps follow
  for (int64_t row = begin; row < end; row += kNear) {
    const int64_t last = least(end, row + kNear);
    switch (p.n) {
      case 1:
        dot_rows<1>(p, row, last);
        break;
      case 2:
        dot_rows<2>(p, row, last);
        break;
      default:
        dot_rows<3>(p, row, last);
        break;
    }
    const int64_t rows = last - row;
    for (int i = 0; i < p.chain.count;
         ++i) {  // rows are short, so functions of one element take them as one line
      const bool joins = p.ldc == p.n && p.chain.steps[i].other == nullptr;
      apply({p.chain.steps + i, 1}, p.c + row * p.ldc, p.ldc, row, joins ? 1 : rows, 0,
            joins ? rows * p.n : p.n);
    }
  }
}

}  // namespace

void fill_dots(Compute& c) { c.dots = dots; }

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
