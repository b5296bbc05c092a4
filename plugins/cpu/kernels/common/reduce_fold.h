// Reductions by the loops of the instruction set. Neither the pieces nor their order depend on the number of threads.
#pragma once

#include <type_traits>

#include "device.h"
#include "isa/reduce.h"
#include "kernels/common/convert.h"
#include "kernels/common/reduce.h"

namespace tenon::cpu {

template <class T, class Fold>
struct FoldLines {
  static constexpr int64_t kChunk = 1024;  // elements converted to float32 at a time

  /// Joins a contiguous line to `total`.
  template <class Total>
  static void line(const Fold& fold, const T* x, int64_t n, Total& total) {
    if constexpr (std::is_same_v<T, float>) {
      total.join(fold.line(x, n));
    } else {
      float chunk[kChunk];
      for (int64_t done = 0; done < n; done += kChunk) {
        const int64_t size = std::min(kChunk, n - done);
        to_float(x + done, chunk, size);
        total.join(fold.line(chunk, size));
      }
    }
  }
  /// Folds `rows` rows of n <= kChunk columns into totals.
  template <class A>
  static void columns(const Fold& fold, const T* x, int64_t stride, int64_t rows, A* totals, int64_t n) {
    if constexpr (std::is_same_v<T, float>) {
      fold.columns(x, stride, rows, totals, n);
    } else {
      float chunk[kChunk];
      for (int64_t r = 0; r < rows; ++r, x += stride) {
        to_float(x, chunk, n);
        fold.columns(chunk, 0, 1, totals, n);
      }
    }
  }
};

/// A few long lines, in pieces.
template <class T, class Accumulator, class Fold>
void fold_long_lines(const Context& ctx, const ReduceState& state, const Fold& fold, int64_t piece) {
  const T* in = ctx.input(0).data<T>();
  T* out = ctx.output(0).template data<T>();
  const int64_t n = state.reduced, pieces = (n + piece - 1) / piece;
  Accumulator* parts = ctx.scratch<Accumulator>(state.outputs * pieces);
  ctx.parallel_for(state.outputs * pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * piece;
      parts[i] = Accumulator();
      FoldLines<T, Fold>::line(fold, in + state.kept_offset(i / pieces) + first, std::min(piece, n - first),
                               parts[i]);
    }
  });
  for (int64_t o = 0; o < state.outputs; ++o) {
    Accumulator total;
    for (int64_t i = 0; i < pieces; ++i) total.join(parts[o * pieces + i].part());
    out[o] = static_cast<T>(total.result(n));
  }
}

/// As reduce_loop(), for float types, where Accumulator has a kFold.
template <class T, class Accumulator>
void fold_loop(const Context& ctx, const ReduceState& state) {
  const auto& fold = isa_table().reduce->*Accumulator::kFold;
  using Fold = std::remove_cvref_t<decltype(fold)>;
  using Lines = FoldLines<T, Fold>;
  const T* in = ctx.input(0).data<T>();
  T* out = ctx.output(0).template data<T>();
  const int64_t inner = state.reduced_dims.back(), stride = state.reduced_strides.back();
  if (state.reduced == 0 || state.outputs == 0) return reduce_loop<T, Accumulator>(ctx, state);
  const int64_t rows = state.reduced / inner;
  constexpr int64_t kPiece = 1 << 15, kFewOutputs = 16;
  if (stride == 1) {
    if (rows == 1 && inner >= 2 * kPiece && state.outputs <= kFewOutputs)
      return fold_long_lines<T, Accumulator>(ctx, state, fold, kPiece);
    ctx.parallel_for(state.outputs, std::max<int64_t>(1, kGrainCheap / state.reduced),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t o = begin; o < end; ++o) {
                         const T* first = in + state.kept_offset(o);
                         Accumulator total;
                         for (int64_t r = 0; r < rows; ++r)
                           Lines::line(fold, first + state.reduced_offset(r), inner, total);
                         out[o] = static_cast<T>(total.result(state.reduced));
                       }
                     });
    return;
  }
  // The innermost dim is kept: blocks of its columns.
  constexpr int64_t kBlock = 128;
  const int64_t n = state.kept_dims.back(), blocks = (n + kBlock - 1) / kBlock;
  const int64_t grain = std::max<int64_t>(1, kGrainCheap / (std::min(n, kBlock) * state.reduced));
  ctx.parallel_for(state.outputs / n * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % blocks * kBlock, width = std::min(kBlock, n - column);
      const int64_t output = i / blocks * n + column;
      const T* first = in + state.kept_offset(output);
      decltype(fold.line(nullptr, 0)) totals[kBlock];
      std::fill_n(totals, width, fold.line(nullptr, 0));
      for (int64_t r = 0; r < rows; ++r)
        Lines::columns(fold, first + state.reduced_offset(r), stride, inner, totals, width);
      for (int64_t j = 0; j < width; ++j) {
        Accumulator total;
        total.join(totals[j]);
        out[output + j] = static_cast<T>(total.result(state.reduced));
      }
    }
  });
}

}  // namespace tenon::cpu
