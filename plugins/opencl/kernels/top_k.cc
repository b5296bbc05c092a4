// TopK along one axis.
#include "tenon/ep/device/ops/top_k.hpp"

#include "kernels/common/kernel.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"top_k", R"CL(
typedef struct {
  int outer;
  int axis;
  int inner;
  int items;
  int run;
  int group;
  int keep;
  int results;
  int is_first;
  int is_last;
} Stage;
// Whether a comes before b. NaN counts as the largest number.
inline bool comes_before(C a, int a_index, C b, int b_index, int largest) {
#if IS_REAL
  const bool a_nan = isnan(a), b_nan = isnan(b);
  if (a_nan && b_nan) return a_index < b_index;
  if (a_nan || b_nan) return a_nan == (largest != 0);
#endif
  if (a != b) return largest ? a > b : a < b;
  return a_index < b_index;
}
__kernel void TopK(IN(T, x), IN(int, from), OUT(int, to), OUT(T, y), OUT(long, places), Stage s, int largest, int has_y,
                   int has_places) {
  const int e = get_global_id(0), row = get_global_id(1);
  if (e >= s.items * s.inner || row >= s.outer) return;
  const int p = e / s.inner, i = e - p * s.inner;
  __global const T* line = PTR(x) + row * s.axis * s.inner + i;
  __global const int* left = PTR(from) + row * s.items * s.inner + i;
#define INDEX(at) (s.is_first ? (at) : left[(at) * s.inner])
  const int index = INDEX(p), start = p / s.group * s.group, end = min(start + s.group, s.items);
  const C value = LOAD(line, index * s.inner);
  const int own = start + (p - start) / s.run * s.run;
  int rank = p - own;
  for (int run = start; run < end && rank < s.keep; run += s.run) {
    if (run == own) continue;
    int low = run, high = min(run + s.run, end);
    while (low < high) {
      const int middle = low + (high - low) / 2, other = INDEX(middle);
      if (comes_before(LOAD(line, other * s.inner), other, value, index, largest))
        low = middle + 1;
      else
        high = middle;
    }
    rank += low - run;
  }
  if (rank >= s.keep) return;
  const int at = (row * s.results + p / s.group * s.keep + rank) * s.inner + i;
  if (!s.is_last) {
    PTR(to)[at] = index;
    return;
  }
  if (has_y) STORE(PTR(y), at, value);
  if (has_places) PTR(places)[at] = index;
}
)CL",
                         "Stage", sizeof(ops::TopKStage)};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::TopK<Kernels>, .op_type = "TopK", .since = 1, .until = 9, .contract = "X: rank 1..")
TENON_KERNEL(ops::TopK<Kernels>, .op_type = "TopK", .since = 10, .contract = "X: rank 1..; K: one @size")

}  // namespace
}  // namespace tenon::opencl
