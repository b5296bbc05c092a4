// Matrix products of float and double, split over the workers.
#pragma once

#include <cstddef>

#include "device.h"
#include "isa/packing.h"
#include "kernels/common/scratch.h"

namespace tenon::cpu {

inline void gemm_block(const isa::Gemm<float>& g) { isa_table().gemm_f32(g); }
inline void gemm_block(const isa::Gemm<double>& g) { isa_table().gemm_f64(g); }

/// Each worker's packing memory for products of up to [m, k] by [k, n]. Make it once for all products of a
/// Run.
template <class T>
class GemmRoom {
 public:
  GemmRoom(const Context& ctx, int64_t m, int64_t n, int64_t k)
      : blocks_(blocks_of(m, n, k)), rooms_(ctx, blocks_.bytes) {}

  void multiply(uint32_t worker, const isa::Gemm<T>& g) const {
    if (blocks_.bytes == 0 || g.m <= 1 || g.n <= 1 || g.k == 0) return gemm_block(g);
    void* room = rooms_.of(worker).data();
    if constexpr (std::is_same_v<T, float>)
      isa_packing().gemm_f32(g, blocks_, room);
    else
      isa_packing().gemm_f64(g, blocks_, room);
  }

 private:
  static isa::Blocks blocks_of(int64_t m, int64_t n, int64_t k) {
    constexpr int64_t kStack = 128 << 10;  // smaller operands are packed on the stack
    if (m <= 1 || n <= 1 || std::max(m, n) * k * static_cast<int64_t>(sizeof(T)) <= kStack) return {};
    if constexpr (std::is_same_v<T, float>)
      return isa_packing().blocks_f32(m, n, k);
    else
      return isa_packing().blocks_f64(m, n, k);
  }
  isa::Blocks blocks_;
  WorkerLists<std::byte> rooms_;
};

/// One product, split by rows or by columns, whichever are more.
template <class T>
void gemm(const Context& ctx, const isa::Gemm<T>& g, const GemmRoom<T>& room) {
  const bool by_rows = g.m >= g.n;
  const int64_t n = by_rows ? g.m : g.n, other = std::max<int64_t>(1, by_rows ? g.n : g.m);
  const int64_t grain = std::max<int64_t>(8, kGrainFlops / std::max<int64_t>(1, other * g.k));
  ctx.parallel_for(n, grain, [&](uint32_t worker, int64_t begin, int64_t end) {
    ctx.check_cancelled();
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
    room.multiply(worker, part);
  });
}
template <class T>
void gemm(const Context& ctx, const isa::Gemm<T>& g) {
  gemm(ctx, g, GemmRoom<T>(ctx, g.m, g.n, g.k));
}

/// `count` products of one shape; `at(i)` gives the i-th. Workers take whole products if there are enough,
/// else they share each.
template <class T, class F>
void gemm_batch(const Context& ctx, int64_t count, F&& at) {
  if (count <= 0) return;
  const isa::Gemm<T> first = at(0);
  const GemmRoom<T> room(ctx, first.m, first.n, first.k);
  if (count == 1) return gemm<T>(ctx, first, room);
  const int64_t work = std::max<int64_t>(1, first.m * first.n * first.k);
  if (count < static_cast<int64_t>(ctx.worker_count()) && work > kGrainFlops) {
    for (int64_t i = 0; i < count; ++i) gemm<T>(ctx, at(i), room);
    return;
  }
  ctx.parallel_for(count, std::max<int64_t>(1, kGrainFlops / work),
                   [&](uint32_t worker, int64_t begin, int64_t end) {
                     ctx.check_cancelled();
                     for (int64_t i = begin; i < end; ++i) room.multiply(worker, at(i));
                   });
}

}  // namespace tenon::cpu
