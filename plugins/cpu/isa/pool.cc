// Each output row takes two passes: the rows of its windows fold to one line, then the columns of that line fold. Some
// rows go through a pass together, because a line that was just stored cannot be loaded at other places at once.
#include "isa/pool.h"

#include "isa/vector.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

struct Largest {
  static constexpr float kStart = -__builtin_inff();
  static Floats take(Floats best, Floats x) { return x > best ? x : best; }
  static float take(float best, float x) { return x > best ? x : best; }
};
struct Total {
  static constexpr float kStart = 0;
  static Floats take(Floats total, Floats x) { return total + x; }
  static float take(float total, float x) { return total + x; }
};

/// Elements 0, 2, 4, ... of the 2 * kFloats from `from` on.
inline Floats load_even(const float* from) {
  const Floats a = load(from), b = load(from + kFloats);
#if TENON_ISA_BYTES == 64
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif TENON_ISA_BYTES == 32
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
#else
  return __builtin_shufflevector(a, b, 0, 2, 4, 6);
#endif
}

/// What has folded of the rows' first elements, times zero: not zero if one was NaN or infinite.
struct Odd {
  Floats seen = {};
  void look(Floats x) { seen += x * 0.0f; }
  bool any() const {
    for (int64_t i = 0; i < kFloats; ++i)
      if (seen[i] != 0) return true;
    return false;
  }
};

/// line[c] = fold of x[r * row + c] over `taps` rows, for c < n. `readable` floats may be read from the last row on.
template <class Op>
inline void fold_rows(const float* x, int64_t row, int64_t taps, int64_t n, int64_t readable, float* line,
                      Odd& odd) {
  const auto block = [&](int64_t c) {
    Floats folded = all_of(Op::kStart);
    const float* from = x + c;
    if (taps > 0) {
      const Floats first = load(from);
      odd.look(first);
      folded = Op::take(folded, first);
    }
    for (int64_t r = 1; r < taps; ++r) folded = Op::take(folded, load(from + r * row));
    store(line + c, folded);
  };
  int64_t c = 0;
  for (; c + kFloats <= n; c += kFloats) block(c);
  if (c == n) return;
  if (n >= kFloats) return block(n - kFloats);
  if (readable >= kFloats) {
    block(0);
    for (int64_t i = n; i < kFloats; ++i) line[i] = Op::kStart;
    return;
  }
  for (; c < n; ++c) {
    float folded = Op::kStart;
    for (int64_t r = 0; r < taps; ++r) folded = Op::take(folded, x[r * row + c]);
    line[c] = folded;
    if (taps > 0) odd.look(all_of(x[c]));
  }
}

/// The fold of the windows of output columns j to j + kFloats. The stride is 1 or 2, or else `stride`.
template <class Op, int kStride>
inline Floats fold_columns(const float* line, int64_t j, int64_t taps, int64_t stride) {
  Floats folded = all_of(Op::kStart);
  if constexpr (kStride == 0) {
    for (int64_t i = 0; i < kFloats; ++i) {
      float one = Op::kStart;
      for (int64_t t = 0; t < taps; ++t) one = Op::take(one, line[(j + i) * stride + t]);
      folded[i] = one;
    }
  } else {
    for (int64_t t = 0; t < taps; ++t)
      folded = Op::take(folded, kStride == 1 ? load(line + j + t) : load_even(line + 2 * j + t));
  }
  return folded;
}

/// Calls store_at(j, part) for blocks that cover n columns; the last may overlap the one before. If n < kFloats
/// there is one block.
template <class F>
inline void blocks_of(int64_t n, F&& block) {
  int64_t j = 0;
  for (; j + kFloats <= n; j += kFloats) block(j);
  if (j < n) block(n > kFloats ? n - kFloats : 0);
}

template <class Op, int kStride, class Finish>
inline void pool_rows(const PoolPlane& p, const float* x, float* line, float* y, Odd& odd, Finish&& finish) {
  const int64_t size = p.line / PoolPlane::kLines;
  for (int64_t i = 0; i < p.line; ++i) line[i] = Op::kStart;
  const int64_t in_size = p.in_rows * p.in_columns, out_size = p.out_rows * p.out_columns;
  for (int64_t o0 = 0; o0 < p.out_rows; o0 += PoolPlane::kLines) {
    const int64_t o1 = o0 + PoolPlane::kLines < p.out_rows ? o0 + PoolPlane::kLines : p.out_rows;
    for (int64_t o = o0; o < o1; ++o) {
      const int64_t first = p.first_row[o], taps = p.row_taps[o];
      const int64_t last = first + (taps > 0 ? taps - 1 : 0) * p.row_step;
      fold_rows<Op>(x + first * p.in_columns, p.row_step * p.in_columns, taps, p.in_columns,
                    in_size - last * p.in_columns, line + (o - o0) * size + p.pad_left, odd);
    }
    for (int64_t o = o0; o < o1; ++o) {
      const float* folded = line + (o - o0) * size;
      blocks_of(p.out_columns, [&](int64_t j) {
        const Floats out =
            finish(fold_columns<Op, kStride>(folded, j, p.kernel_columns, p.column_stride), o, j);
        const int64_t at = o * p.out_columns + j;
        // What is beyond the row is written again with the next.
        if (at + kFloats <= out_size) return store(y + at, out);
        __builtin_memcpy(y + at, &out, static_cast<uint64_t>(out_size - at) * sizeof(float));
      });
    }
  }
}

template <class Op, class Finish>
inline void pool(const PoolPlane& p, const float* x, float* line, float* y, Odd& odd, Finish&& finish) {
  if (p.column_stride == 1) return pool_rows<Op, 1>(p, x, line, y, odd, finish);
  if (p.column_stride == 2) return pool_rows<Op, 2>(p, x, line, y, odd, finish);
  pool_rows<Op, 0>(p, x, line, y, odd, finish);
}

void max(const PoolPlane& p, const float* x, float* line, float* y) {
  Odd odd;
  pool<Largest>(p, x, line, y, odd, [](Floats best, int64_t, int64_t) { return best; });
  if (!odd.any()) return;
  for (int64_t o = 0; o < p.out_rows; ++o) {
    if (p.row_taps[o] == 0) continue;
    for (int64_t j = 0; j < p.out_columns; ++j) {
      const int64_t start = j * p.column_stride - p.pad_left, column = start < 0 ? 0 : start;
      if (column >= p.in_columns || start + p.kernel_columns <= 0) continue;
      const float tap = x[p.first_row[o] * p.in_columns + column];
      if (tap != tap) y[o * p.out_columns + j] = tap;
    }
  }
}

void mean(const PoolPlane& p, const float* x, float* line, float* y) {
  Odd odd;
  pool<Total>(p, x, line, y, odd, [&p](Floats total, int64_t row, int64_t column) {
    return total / (load(p.column_weight + column) * p.row_weight[row]);
  });
}

}  // namespace

void fill_pool(Table& table) {
  static const Pools kPools = {max, mean};
  table.pool = &kPools;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
