#include "isa/reduce.h"

#include "isa/parts.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

constexpr int64_t kLanes = 32, kFew = 8;

/// Op has: Total; kStart; Total take(Total, float); Total join(Total, Total).
template <class Op>
typename Op::Total line(const float* x, int64_t n) {
  using Total = typename Op::Total;
  Total few[kFew];
  for (int64_t j = 0; j < kFew; ++j) few[j] = Op::kStart;
  int64_t i = 0;
  if (n >= kLanes) {
    Total lanes[kLanes];
    for (int64_t j = 0; j < kLanes; ++j) lanes[j] = Op::kStart;
    for (; i + kLanes <= n; i += kLanes) {
      for (int64_t j = 0; j < kLanes; ++j) lanes[j] = Op::take(lanes[j], x[i + j]);
    }
    for (int64_t j = 0; j < kFew; ++j) {
      few[j] =
          Op::join(Op::join(lanes[j], lanes[j + kFew]), Op::join(lanes[j + 2 * kFew], lanes[j + 3 * kFew]));
    }
  }
  for (; i + kFew <= n; i += kFew) {
    for (int64_t j = 0; j < kFew; ++j) few[j] = Op::take(few[j], x[i + j]);
  }
  Total total = Op::join(Op::join(Op::join(few[0], few[4]), Op::join(few[2], few[6])),
                         Op::join(Op::join(few[1], few[5]), Op::join(few[3], few[7])));
  for (; i < n; ++i) total = Op::take(total, x[i]);
  return total;
}

template <class Op>
void columns(const float* x, int64_t stride, int64_t rows, typename Op::Total* __restrict__ totals,
             int64_t n) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4, x += 4 * stride) {
    const float *a = x, *b = x + stride, *c = x + 2 * stride, *d = x + 3 * stride;
    for (int64_t j = 0; j < n; ++j)
      totals[j] = Op::take(Op::take(Op::take(Op::take(totals[j], a[j]), b[j]), c[j]), d[j]);
  }
  for (; r < rows; ++r, x += stride) {
    for (int64_t j = 0; j < n; ++j) totals[j] = Op::take(totals[j], x[j]);
  }
}

struct InDouble {
  using Total = double;
  static constexpr double kStart = 0;
  static double join(double a, double b) { return a + b; }
};
struct Sum : InDouble {
  static double take(double total, float x) { return total + static_cast<double>(x); }
};
struct SumAbs : InDouble {
  static double take(double total, float x) { return total + static_cast<double>(__builtin_fabsf(x)); }
};
struct SumSquares : InDouble {
  static double take(double total, float x) {
    return total + static_cast<double>(x) * static_cast<double>(x);
  }
};
struct Max {
  using Total = float;
  static constexpr float kStart = -__builtin_inff();
  static float take(float best, float x) { return best != best || best > x ? best : x; }
  static float join(float a, float b) { return take(a, b); }
};
struct Min {
  using Total = float;
  static constexpr float kStart = __builtin_inff();
  static float take(float best, float x) { return best != best || best < x ? best : x; }
  static float join(float a, float b) { return take(a, b); }
};

template <bool kMax, bool kLast>
void arg_extreme(const float* x, int64_t stride, int64_t count, float* __restrict__ best,
                 int32_t* __restrict__ at, int64_t n) {
  for (int64_t j = 0; j < n; ++j) best[j] = x[j], at[j] = 0;
  for (int64_t k = 1; k < count; ++k) {
    x += stride;
    const auto row = static_cast<int32_t>(k);
    for (int64_t j = 0; j < n; ++j) {
      const float value = x[j], old = best[j];
      const bool beyond = kMax ? (kLast ? value >= old : value > old) : (kLast ? value <= old : value < old);
      const bool is_nan = (value != value) & (kLast | (old == old));
      const bool wins = beyond | is_nan;
      best[j] = wins ? value : old;
      at[j] = wins ? row : at[j];
    }
  }
}
template <bool kMax>
void arg_extreme_of(const float* x, int64_t stride, int64_t count, bool last, float* best, int32_t* at,
                    int64_t n) {
  if (last) return arg_extreme<kMax, true>(x, stride, count, best, at, n);
  arg_extreme<kMax, false>(x, stride, count, best, at, n);
}

int64_t find(const float* x, int64_t n, float value, bool last) {
  const auto same = [value](float v) { return (v == value) | ((v != v) & (value != value)); };
  const auto in_block = [&](int64_t i) {
    int any = 0;
    for (int64_t j = 0; j < kLanes; ++j) any |= same(x[i + j]);
    return any != 0;
  };
  if (last) {
    int64_t end = n;
    while (end >= kLanes && !in_block(end - kLanes)) end -= kLanes;
    for (int64_t i = end; i-- > 0;)
      if (same(x[i])) return i;
    return -1;
  }
  int64_t i = 0;
  while (i + kLanes <= n && !in_block(i)) i += kLanes;
  for (; i < n; ++i)
    if (same(x[i])) return i;
  return -1;
}

template <class Op>
constexpr Fold<typename Op::Total> fold_of() {
  return {line<Op>, columns<Op>};
}

}  // namespace

void fill_reduce(Table& table) {
  static const Reductions kReductions = {
      fold_of<Sum>(), fold_of<SumAbs>(),    fold_of<SumSquares>(), fold_of<Max>(),
      fold_of<Min>(), arg_extreme_of<true>, arg_extreme_of<false>, find};
  table.reduce = &kReductions;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
