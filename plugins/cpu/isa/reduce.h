// Reductions of float32 lines, compiled once per instruction set. Sums are kept in double, in lanes whose number
// and order are the same on every instruction set.
#pragma once

#include <cstdint>

namespace tenon::cpu::isa {

/// A is the type of the totals. Arrays need no alignment.
template <class A>
struct Fold {
  /// What the `n` elements of x fold to; for n = 0 the state before the first element.
  A (*line)(const float* x, int64_t n);
  /// Folds x[r * stride + j] for the rows r into totals[j], for j < n.
  void (*columns)(const float* x, int64_t stride, int64_t rows, A* totals, int64_t n);
};

/// In columns: which of `count` rows, `stride` apart, has the extreme of column j < n; the first such row, or the last.
/// A NaN is more than all numbers. Works in best[n].
using ArgExtreme = void (*)(const float* x, int64_t stride, int64_t count, bool last, float* best,
                            int32_t* at, int64_t n);

struct Reductions {
  Fold<double> sum, sum_abs, sum_squares;
  Fold<float> max, min;  // a NaN stays
  ArgExtreme arg_max, arg_min;
  /// The first or last of n elements that equals `value`, or that is NaN when it is; -1 if there is none.
  int64_t (*find)(const float* x, int64_t n, float value, bool last);
};

}  // namespace tenon::cpu::isa
