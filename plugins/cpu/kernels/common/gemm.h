// Matrix products of float and double, split over the workers.
#pragma once

#include "device.h"
#include "kernels/common/shape.h"

namespace tenon::cpu {

inline void gemm_block(const isa::Gemm<float>& g) { isa_table().gemm_f32(g); }
inline void gemm_block(const isa::Gemm<double>& g) { isa_table().gemm_f64(g); }

/// One product, by blocks of rows or of columns, whichever there are more of.
template <class T>
void gemm(const Context& ctx, const isa::Gemm<T>& g) {
  const bool by_rows = g.m >= g.n;
  const int64_t n = by_rows ? g.m : g.n, other = std::max<int64_t>(1, by_rows ? g.n : g.m);
  const int64_t grain = std::max<int64_t>(8, kGrainFlops / std::max<int64_t>(1, other * g.k));
  ctx.parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    isa::Gemm<T> part = g;
    if (by_rows) {
      part.m = end - begin;
      part.a += begin * (g.a_transposed ? 1 : g.lda);
      part.c += begin * g.ldc;
    } else {
      part.n = end - begin;
      part.b += begin * (g.b_transposed ? g.ldb : 1);
      part.c += begin;
    }
    gemm_block(part);
  });
}

/// Products of many pairs: one per piece when there are enough of them, else one after the other, each split.
/// `at(i)` gives the i-th.
template <class T, class F>
void gemm_batch(const Context& ctx, int64_t count, F&& at) {
  if (count <= 0) return;
  if (count == 1) return gemm<T>(ctx, at(0));
  const isa::Gemm<T> first = at(0);
  const int64_t work = std::max<int64_t>(1, first.m * first.n * first.k);
  if (count < static_cast<int64_t>(ctx.worker_count()) && work > kGrainFlops) {
    for (int64_t i = 0; i < count; ++i) gemm<T>(ctx, at(i));
    return;
  }
  ctx.parallel_for(count, std::max<int64_t>(1, kGrainFlops / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) gemm_block(at(i));
  });
}

}  // namespace tenon::cpu
