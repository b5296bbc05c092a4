// Softmax, LogSoftmax and Hardmax along one axis; before version 13, along all axes from `axis` on.
#include "tenon/ep/device/ops/softmax.hpp"

#include "kernels/common/rows.h"
#include "kernels/common/single.h"
#include "kernels/common/texts.h"

namespace tenon::cuda {
namespace {

// A row is a line of `count` elements at distance `inner`. NaN is the largest number.
constexpr std::string_view kText = R"CU(
__device__ inline C top_of(const T* x, int count, int inner) {
  C top = -INFINITY;
  visit_line(x, inner, count, [&](int, C v) { top = MaxOf<C>()(top, v); });
  return of_row(top, (C)-INFINITY, MaxOf<C>());
}
__device__ inline C sum_of(const T* x, int count, int inner, C top) {
  C sum = 0;
  visit_line(x, inner, count, [&](int, C v) { sum += exp(v - top); });
  return sum_of_row(sum);
}
#if OP == 0
KERNEL Softmax(IN(T, x), OUT(T, y), int outer, int count, int inner) {
  EACH_ROW(i, inner, row, outer) {
    const int64 first = row * count * inner + i;
    const C top = top_of(x + first, count, inner), scale = 1 / sum_of(x + first, count, inner, top);
    map_line(x + first, y + first, inner, count, [=](int, C v) { return exp(v - top) * scale; });
  }
}
#elif OP == 1
KERNEL LogSoftmax(IN(T, x), OUT(T, y), int outer, int count, int inner) {
  EACH_ROW(i, inner, row, outer) {
    const int64 first = row * count * inner + i;
    const C top = top_of(x + first, count, inner), shift = top + log(sum_of(x + first, count, inner, top));
    map_line(x + first, y + first, inner, count, [=](int, C v) { return v - shift; });
  }
}
#else
KERNEL Hardmax(IN(T, x), OUT(T, y), int outer, int count, int inner) {
  EACH_ROW(i, inner, row, outer) {
    const int64 first = row * count * inner + i;
    const C top = top_of(x + first, count, inner);
    int found = count;
    visit_line(x + first, inner, count, [&](int k, C v) { found = (v == top || v != v) && k < found ? k : found; });
    found = of_row(found, count, MinOf<int>());
    map_line(x + first, y + first, inner, count, [=](int k, C) { return k == found ? (C)1 : (C)0; });
  }
}
#endif
)CU";
constexpr Source kSource{"softmax", kJoined<kRowForms, kText>};
/// By OP.
constexpr std::string_view kNames[] = {"Softmax", "LogSoftmax", "Hardmax"};
using Kernels = SingleKernel<RowBackend<kSource, Lines>, kNames>;

TENON_KERNEL(ops::Softmax<Kernels>, .op_type = "Softmax", .since = 1, .contract = "input: any")
TENON_KERNEL(ops::Softmax<Kernels>, .op_type = "LogSoftmax", .since = 1, .contract = "input: any")
TENON_KERNEL(ops::Softmax<Kernels>, .op_type = "Hardmax", .since = 1, .contract = "input: any")

}  // namespace
}  // namespace tenon::cuda
