// Shapes of numpy's matmul: vectors, matrices, broadcast batches.
#pragma once

#include "kernels/common/broadcast.h"

namespace tenon::cpu {

/// `count()` products of [m, k] by [k, n].
struct MatMulShape {
  int64_t m = 1, n = 1, k = 1;
  std::vector<int64_t> left, right;  // offset of each product's factors, in elements
  Dims dims;                         // of the output
  int64_t count() const { return static_cast<int64_t>(left.size()); }
};

/// Reads the shapes of inputs 0 and `right`, checked by the contract, and sets output 0. `fold`: many left
/// matrices and one right matrix become one tall left matrix.
inline MatMulShape matmul_shape(PrepareContext& p, bool fold, int right = 1) {
  const DimsView a = p.input(0).dims(), b = p.input(right).dims();
  MatMulShape s;
  s.m = a.size() == 1 ? 1 : a[a.size() - 2];
  s.k = a.back();
  s.n = b.size() == 1 ? 1 : b.back();
  const DimsView a_batch = a.first(a.size() < 2 ? 0 : a.size() - 2),
                 b_batch = b.first(b.size() < 2 ? 0 : b.size() - 2);
  s.dims = broadcast_dims(a_batch, b_batch);
  const Dims batches = s.dims;
  if (a.size() > 1) s.dims.push_back(a[a.size() - 2]);
  if (b.size() > 1) s.dims.push_back(b.back());
  p.set_output(0, s.dims);
  if (element_count(s.dims) == 0) return s;  // there is nothing to compute
  const int64_t count = element_count(batches);
  if (fold && element_count(b_batch) == 1 && element_count(a_batch) == count) {
    s.m *= count;
    s.left = {0}, s.right = {0};
  } else {
    p.require_memory(static_cast<uint64_t>(count) * 2 * sizeof(int64_t), "the offsets of the matrices");
    const Broadcast<2> batch(batches, {a_batch, b_batch});
    CancelPoint point(p);
    batch.for_runs(0, batch.runs, [&](const std::array<int64_t, 2>& at, int64_t) {
      for (int64_t i = 0; i < batch.run; ++i) {
        point.pass();
        s.left.push_back((at[0] + i * batch.run_strides[0]) * s.m * s.k);
        s.right.push_back((at[1] + i * batch.run_strides[1]) * s.k * s.n);
      }
    });
  }
  return s;
}

}  // namespace tenon::cpu
