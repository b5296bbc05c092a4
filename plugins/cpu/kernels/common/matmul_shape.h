// The shapes of numpy's matmul: vectors, matrices, broadcast batches.
#pragma once

#include "kernels/common/broadcast.h"

namespace tenon::cpu {

/// `count()` products of [m, k] by [k, n].
struct MatMulShape {
  int64_t m = 1, n = 1, k = 1;
  std::vector<int64_t> left, right;  // where the factors of each product begin, in elements
  Dims dims;                         // of the output
  int64_t count() const { return static_cast<int64_t>(left.size()); }
};

/// `fold`: many left matrices and one right one become one tall left matrix.
inline MatMulShape matmul_shape(DimsView a, DimsView b, bool fold) {
  require(!a.empty() && !b.empty(), TENON_INVALID_ARGUMENT, "scalars cannot be multiplied as matrices");
  MatMulShape s;
  s.m = a.size() == 1 ? 1 : a[a.size() - 2];
  s.k = a.back();
  s.n = b.size() == 1 ? 1 : b.back();
  const int64_t inner = b.size() == 1 ? b[0] : b[b.size() - 2];
  require(inner == s.k, TENON_INVALID_ARGUMENT, "shapes ", a, " and ", b, " do not multiply");

  const DimsView a_batch = a.first(a.size() < 2 ? 0 : a.size() - 2),
                 b_batch = b.first(b.size() < 2 ? 0 : b.size() - 2);
  s.dims = broadcast_dims(a_batch, b_batch);
  const int64_t count = element_count(s.dims);
  if (fold && element_count(b_batch) == 1 && element_count(a_batch) == count) {
    s.m *= count;
    s.left = {0}, s.right = {0};
  } else if (const Broadcast<2> batch(s.dims, {a_batch, b_batch}); batch.run > 0) {
    batch.for_runs(0, batch.runs, [&](const std::array<int64_t, 2>& at, int64_t) {
      for (int64_t i = 0; i < batch.run; ++i) {
        s.left.push_back((at[0] + i * batch.steps[0]) * s.m * s.k);
        s.right.push_back((at[1] + i * batch.steps[1]) * s.k * s.n);
      }
    });
  }
  if (a.size() > 1) s.dims.push_back(a[a.size() - 2]);
  if (b.size() > 1) s.dims.push_back(b.back());
  return s;
}

}  // namespace tenon::cpu
