// Reductions over any axes, and ArgMax and ArgMin over one. Each work-item computes one output element.
#include "tenon/ep/device/ops/reduce.hpp"

#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

// `kept` goes over the outputs, `reduced` over the elements of one output. Operand 0 of both is x.
constexpr Source kSource{"reduce", R"CL(
#define REDUCE(name, start, each, end)                                            \
  __kernel void name(IN(T, x), OUT(T, y), Walk kept, Walk reduced, int count) {   \
    const int i = get_global_id(0), row = get_global_id(1);                       \
    if (i >= kept.inner || row >= kept.outer) return;                             \
    WALK1(kept, row, from)                                                        \
    from += i * kept.step[0];                                                     \
    C s = start;                                                                  \
    for (int r = 0; r < reduced.outer; ++r) {                                     \
      WALK1(reduced, r, at)                                                       \
      for (int k = 0; k < reduced.inner; ++k) {                                   \
        const C v = LOAD(PTR(x), from + at + k * reduced.step[0]);                \
        each;                                                                     \
      }                                                                           \
    }                                                                             \
    STORE(PTR(y), row * kept.inner + i, (C)(end));                                \
  }
REDUCE(ReduceSum, 0, s += v, s)
REDUCE(ReduceSumSquare, 0, s += v * v, s)
REDUCE(ReduceProd, 1, s *= v, s)
#if IS_REAL
REDUCE(ReduceMean, 0, s += v, s / (C)count)
REDUCE(ReduceL1, 0, s += fabs(v), s)
REDUCE(ReduceL2, 0, s += v * v, sqrt(s))
REDUCE(ReduceLogSum, 0, s += v, log(s))
REDUCE(ReduceMax, -INFINITY, s = isnan(s) ? s : isnan(v) ? v : fmax(s, v), s)
REDUCE(ReduceMin, INFINITY, s = isnan(s) ? s : isnan(v) ? v : fmin(s, v), s)
__kernel void ReduceLogSumExp(IN(T, x), OUT(T, y), Walk kept, Walk reduced, int count) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= kept.inner || row >= kept.outer) return;
  WALK1(kept, row, from)
  from += i * kept.step[0];
  C top = -INFINITY, s = 0;
  for (int r = 0; r < reduced.outer; ++r) {
    WALK1(reduced, r, at)
    for (int k = 0; k < reduced.inner; ++k) top = fmax(top, LOAD(PTR(x), from + at + k * reduced.step[0]));
  }
  const C base = isinf(top) ? (C)0 : top;
  for (int r = 0; r < reduced.outer; ++r) {
    WALK1(reduced, r, at)
    for (int k = 0; k < reduced.inner; ++k) s += exp(LOAD(PTR(x), from + at + k * reduced.step[0]) - base);
  }
  STORE(PTR(y), row * kept.inner + i, base + log(s));
}
#else
REDUCE(ReduceMean, 0, s += v, count == 0 ? 0 : s / count)
REDUCE(ReduceL1, 0, s += (C)abs(v), s)
REDUCE(ReduceMax, LOWEST, s = s > v ? s : v, s)
REDUCE(ReduceMin, HIGHEST, s = s < v ? s : v, s)
#endif
// NaN counts as the largest and the smallest number. The first one wins.
#if IS_REAL
#define BEATS(a, op, b) (!isnan(b) && (isnan(a) || (a) op (b)))
#else
#define BEATS(a, op, b) ((a) op (b))
#endif
#define ARG(name, op)                                                                        \
  __kernel void name(IN(T, x), OUT(long, y), Walk kept, int count, int stride, int last) {   \
    const int i = get_global_id(0), row = get_global_id(1);                                  \
    if (i >= kept.inner || row >= kept.outer) return;                                        \
    WALK1(kept, row, from)                                                                   \
    from += i * kept.step[0];                                                                \
    int best = 0;                                                                            \
    C s = LOAD(PTR(x), from);                                                                \
    for (int k = 1; k < count; ++k) {                                                        \
      const C v = LOAD(PTR(x), from + k * stride);                                           \
      if (BEATS(v, op, s) || (last && !BEATS(s, op, v))) {                                   \
        s = v;                                                                               \
        best = k;                                                                            \
      }                                                                                      \
    }                                                                                        \
    PTR(y)[row * kept.inner + i] = best;                                                     \
  }
ARG(ArgMax, >)
ARG(ArgMin, <)
)CL"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceSum", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceSumSquare", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceMean", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceProd", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceMax", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceMin", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceL1", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceL2", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceLogSum", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceLogSumExp", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::ArgReduce<Kernels>, .op_type = "ArgMax", .since = 1, .contract = "data: rank 1..")
TENON_KERNEL(ops::ArgReduce<Kernels>, .op_type = "ArgMin", .since = 1, .contract = "data: rank 1..")

}  // namespace
}  // namespace tenon::opencl
