#include "tenon/ep/device/ops/cast.hpp"

#include "kernels/common/kernel.h"

namespace tenon::opencl {
namespace {

// C rounds towards zero, as ONNX does. Numbers outside an integer's range depend on the device. Bool is true
// for numbers other than zero.
constexpr Source kSource{"cast", R"CL(
__kernel void Cast(IN(T, x), OUT(R, y), int n) {
  const int i = get_global_id(0);
  if (i >= n) return;
#if WRAPS
#define CONVERT (long)
#else
#define CONVERT
#endif
#if TO_BOOL
  STORE_R(PTR(y), i, LOAD(PTR(x), i) != 0);
#else
  STORE_R(PTR(y), i, (C_R)CONVERT(LOAD(PTR(x), i)));
#endif
}
)CL"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::Cast<Kernels>, .op_type = "Cast", .since = 6, .contract = "input: any")
TENON_KERNEL(ops::Cast<Kernels>, .op_type = "CastLike", .since = 15,
             .contract = "input: any; target_type: any")

}  // namespace
}  // namespace tenon::opencl
