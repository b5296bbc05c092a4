// Softmax, LogSoftmax and Hardmax along one axis; before version 13, along all axes from `axis` on.
#include "tenon/ep/device/ops/softmax.hpp"

#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

// Each work-item handles one line of `count` elements at distance `stride`.
constexpr Source kSource{"softmax", R"CL(
#define LINE                                                      \
  const int i = get_global_id(0), row = get_global_id(1);         \
  if (i >= inner || row >= outer) return;                         \
  const int from = row * count * inner + i;                       \
  C top = -INFINITY;                                              \
  for (int k = 0; k < count; ++k) {                               \
    const C v = LOAD(PTR(x), from + k * inner);                   \
    top = v > top || isnan(v) ? v : top;                          \
  }
__kernel void Softmax(IN(T, x), OUT(T, y), int outer, int count, int inner) {
  LINE
  C sum = 0;
  for (int k = 0; k < count; ++k) sum += exp(LOAD(PTR(x), from + k * inner) - top);
  const C scale = 1 / sum;
  for (int k = 0; k < count; ++k) {
    const C e = exp(LOAD(PTR(x), from + k * inner) - top);
    STORE(PTR(y), from + k * inner, e * scale);
  }
}
__kernel void LogSoftmax(IN(T, x), OUT(T, y), int outer, int count, int inner) {
  LINE
  C sum = 0;
  for (int k = 0; k < count; ++k) sum += exp(LOAD(PTR(x), from + k * inner) - top);
  const C shift = top + log(sum);
  for (int k = 0; k < count; ++k) STORE(PTR(y), from + k * inner, LOAD(PTR(x), from + k * inner) - shift);
}
__kernel void Hardmax(IN(T, x), OUT(T, y), int outer, int count, int inner) {
  LINE
  bool found = false;
  for (int k = 0; k < count; ++k) {
    const bool here = !found && LOAD(PTR(x), from + k * inner) == top;
    found = found || here;
    STORE(PTR(y), from + k * inner, here ? (C)1 : (C)0);
  }
}
)CL"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::Softmax<Kernels>, .op_type = "Softmax", .since = 1, .contract = "input: any")
TENON_KERNEL(ops::Softmax<Kernels>, .op_type = "LogSoftmax", .since = 1, .contract = "input: any")
TENON_KERNEL(ops::Softmax<Kernels>, .op_type = "Hardmax", .since = 1, .contract = "input: any")

}  // namespace
}  // namespace tenon::opencl
