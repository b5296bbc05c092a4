// TopK along one axis.
#include "tenon/ep/device/ops/top_k.hpp"

#include "kernels/common/kernel.h"

namespace tenon::cuda {
namespace {

constexpr Source kSource{"top_k", R"CU(
struct Stage {
  int outer, axis, inner;
  int items, run, group, keep, results;
  int is_first, is_last;
};
// Whether a comes before b. NaN counts as the largest number.
__device__ inline bool comes_before(C a, int a_index, C b, int b_index, int largest) {
#if IS_REAL
  const bool a_nan = isnan(a), b_nan = isnan(b);
  if (a_nan && b_nan) return a_index < b_index;
  if (a_nan || b_nan) return a_nan == (largest != 0);
#endif
  if (a != b) return largest ? a > b : a < b;
  return a_index < b_index;
}
KERNEL TopK(IN(T, x), IN(int, from), OUT(int, to), OUT(T, y), OUT(int64, places), Stage s, int largest, int has_y,
            int has_places) {
  EACH_Y(row, s.outer) {
    const T* line_of_row = x + row * s.axis * s.inner;
    const int* left_of_row = from + row * s.items * s.inner;
    EACH(e, s.items * s.inner) {
      const int p = (int)e / s.inner, i = (int)e - p * s.inner;
      const T* line = line_of_row + i;
      const int* left = left_of_row + i;
#define INDEX(at) (s.is_first ? (at) : left[(int64)(at) * s.inner])
      const int index = INDEX(p), start = p / s.group * s.group, end = min(start + s.group, s.items);
      const C value = line[(int64)index * s.inner];
      const int own = start + (p - start) / s.run * s.run;
      int rank = p - own;
      for (int run = start; run < end && rank < s.keep; run += s.run) {
        if (run == own) continue;
        int low = run, high = min(run + s.run, end);
        while (low < high) {
          const int middle = low + (high - low) / 2, other = INDEX(middle);
          if (comes_before((C)line[(int64)other * s.inner], other, value, index, largest))
            low = middle + 1;
          else
            high = middle;
        }
        rank += low - run;
      }
      if (rank >= s.keep) continue;
      const int64 at = (row * s.results + p / s.group * s.keep + rank) * s.inner + i;
      if (!s.is_last) {
        to[at] = index;
        continue;
      }
      if (has_y) y[at] = line[(int64)index * s.inner];
      if (has_places) places[at] = index;
    }
  }
}
)CU"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::TopK<Kernels>, .op_type = "TopK", .since = 1, .until = 9, .contract = "X: rank 1..")
TENON_KERNEL(ops::TopK<Kernels>, .op_type = "TopK", .since = 10, .contract = "X: rank 1..; K: one @size")

}  // namespace
}  // namespace tenon::cuda
