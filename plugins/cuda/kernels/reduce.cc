// Reductions over any axes, and ArgMax and ArgMin over one.
#include "tenon/ep/device/ops/reduce.hpp"

#include "kernels/common/rows.h"
#include "kernels/common/single.h"
#include "kernels/common/texts.h"

namespace tenon::cuda {
namespace {

// `kept` goes over the outputs, `reduced` over the elements of one output. Operand 0 of both is x.
constexpr std::string_view kText = R"CU(
// Calls each(element) for the elements of a row that are this thread's.
template <class Each>
__device__ inline void visit(const T* x, const Walk& w, int count, Each each) {
  if (w.outer == 1) return visit_line(x, w.step[0], count, [&](int, C v) { each(v); });
#if FORM == 0
  for (int r = 0; r < w.outer; ++r) {
    WALK1(w, r, at)
    visit_line(x + at, w.step[0], w.inner, [&](int, C v) { each(v); });
  }
#else
  EACH_MEMBER(e, count) {
    const int r = e / w.inner;
    WALK1(w, r, at)
    each((C)x[at + (int64)(e - r * w.inner) * w.step[0]]);
  }
#endif
}
#define REDUCE(name, start, each, both, end)                                         \
  KERNEL name(IN(T, x), OUT(T, y), Walk kept, Walk reduced, int count) {             \
    EACH_ROW(i, kept.inner, row, kept.outer) {                                       \
      WALK1(kept, row, from)                                                         \
      C s = (C)(start);                                                              \
      visit(x + (from + i * kept.step[0]), reduced, count, [&](C v) { s = each; });  \
      s = of_row(s, (C)(start), [](C a, C b) { return (C)(both); });                 \
      if (IS_FIRST) y[row * kept.inner + i] = (C)(end);                              \
    }                                                                                \
  }
#if OP == 0
REDUCE(ReduceSum, 0, plus(s, v), plus(a, b), s)
#elif OP == 1
REDUCE(ReduceSumSquare, 0, plus(s, times(v, v)), plus(a, b), s)
#elif OP == 2
REDUCE(ReduceProd, 1, times(s, v), times(a, b), s)
#elif OP == 3 && IS_REAL
REDUCE(ReduceMean, 0, s + v, a + b, s / (C)count)
#elif OP == 3
REDUCE(ReduceMean, 0, plus(s, v), plus(a, b), count == 0 ? (C)0 : (C)(s / (C)count))
#elif OP == 4 && IS_REAL
REDUCE(ReduceL1, 0, s + fabs(v), a + b, s)
#elif OP == 4
REDUCE(ReduceL1, 0, v > 0 ? plus(s, v) : (C)((uint64)s - (uint64)v), plus(a, b), s)
#elif OP == 5
REDUCE(ReduceL2, 0, s + v * v, a + b, sqrt(s))
#elif OP == 6
REDUCE(ReduceLogSum, 0, s + v, a + b, log(s))
#elif OP == 7 && IS_REAL
REDUCE(ReduceMax, -INFINITY, MaxOf<C>()(s, v), MaxOf<C>()(a, b), s)
#elif OP == 7
REDUCE(ReduceMax, LOWEST, s > v ? s : v, a > b ? a : b, s)
#elif OP == 8 && IS_REAL
REDUCE(ReduceMin, INFINITY, MinOf<C>()(s, v), MinOf<C>()(a, b), s)
#elif OP == 8
REDUCE(ReduceMin, HIGHEST, s < v ? s : v, a < b ? a : b, s)
#elif OP == 9
KERNEL ReduceLogSumExp(IN(T, x), OUT(T, y), Walk kept, Walk reduced, int count) {
  EACH_ROW(i, kept.inner, row, kept.outer) {
    WALK1(kept, row, from)
    const T* elements = x + (from + i * kept.step[0]);
    C top = -INFINITY, s = 0;
    visit(elements, reduced, count, [&](C v) { top = MaxOf<C>()(top, v); });
    top = of_row(top, (C)-INFINITY, MaxOf<C>());
    const C base = isinf(top) ? (C)0 : top;
    visit(elements, reduced, count, [&](C v) { s += exp(v - base); });
    s = sum_of_row(s);
    if (IS_FIRST) y[row * kept.inner + i] = base + log(s);
  }
}
#else
// NaN counts as the largest and the smallest number. The first one wins, or the last one if `last`.
struct Best {
  C value;
  int at;  // -1: of no element
};
__device__ inline Best lane_xor(const Best& best, int lanes) {
  return {(C)lane_xor(best.value, lanes), lane_xor(best.at, lanes)};
}
#if IS_REAL
#define BEATS(a, op, b) (!isnan(b) && (isnan(a) || (a) op (b)))
#else
#define BEATS(a, op, b) ((a) op (b))
#endif
#define ARG(name, op)                                                                             \
  KERNEL name(IN(T, x), OUT(int64, y), Walk kept, int count, int stride, int last) {              \
    const auto better = [=](const Best& a, const Best& b) {                                       \
      if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;                                          \
      if (BEATS(a.value, op, b.value)) return a;                                                  \
      if (BEATS(b.value, op, a.value)) return b;                                                  \
      return (a.at < b.at) == (last != 0) ? b : a;                                                \
    };                                                                                            \
    EACH_ROW(i, kept.inner, row, kept.outer) {                                                    \
      WALK1(kept, row, first)                                                                     \
      const T* from = x + (first + i * kept.step[0]);                                             \
      Best best = {(C)0, -1};                                                                     \
      visit_line(from, stride, count, [&](int k, C v) { best = better(best, Best{v, k}); });      \
      best = of_row(best, Best{(C)0, -1}, better);                                                \
      if (IS_FIRST) y[row * kept.inner + i] = best.at;                                            \
    }                                                                                             \
  }
#if OP == 10
ARG(ArgMax, >)
#else
ARG(ArgMin, <)
#endif
#endif
)CU";
constexpr Source kSource{"reduce", kJoined<kRowForms, kWrapping, kText>};

/// By OP.
constexpr std::string_view kNames[] = {"ReduceSum", "ReduceSumSquare", "ReduceProd",   "ReduceMean",
                                       "ReduceL1",  "ReduceL2",        "ReduceLogSum", "ReduceMax",
                                       "ReduceMin", "ReduceLogSumExp", "ArgMax",       "ArgMin"};

using Kernels = SingleKernel<RowBackend<kSource, Reductions<true>>, kNames>;

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

using ArgKernels = SingleKernel<RowBackend<kSource, ArgReductions>, kNames>;

TENON_KERNEL(ops::ArgReduce<ArgKernels>, .op_type = "ArgMax", .since = 1, .contract = "data: rank 1..")
TENON_KERNEL(ops::ArgReduce<ArgKernels>, .op_type = "ArgMin", .since = 1, .contract = "data: rank 1..")

}  // namespace
}  // namespace tenon::cuda
