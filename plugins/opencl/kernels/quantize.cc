// QuantizeLinear and DequantizeLinear, per tensor or axis: float32 and 8-bit integers, int32 to float32.
#include "tenon/ep/device/ops/quantize.hpp"

#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"quantize", R"CL(
__kernel void QuantizeLinear(IN(T, x), IN(T, scale), IN(R, zero), OUT(R, y), int n, int inner, int channels,
                             int has_zero, float low, float high) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int c = i / inner % channels;
  const float v = rint((float)PTR(x)[i] / (float)PTR(scale)[c]) + (has_zero ? (float)PTR(zero)[c] : 0.0f);
  PTR(y)[i] = (R)clamp(v, low, high);
}
__kernel void DequantizeLinear(IN(T, x), IN(R, scale), IN(T, zero), OUT(R, y), int n, int inner, int channels,
                               int has_zero, float low, float high) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int c = i / inner % channels;
  PTR(y)[i] = (float)((int)PTR(x)[i] - (has_zero ? (int)PTR(zero)[c] : 0)) * (float)PTR(scale)[c];
}
)CL"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::Quantize<Kernels>, .op_type = "QuantizeLinear", .since = 10,
             .contract = "x: any; y_scale: one | [x.$axis:1]; y_zero_point?: count y_scale")
TENON_KERNEL(ops::Quantize<Kernels>, .op_type = "DequantizeLinear", .since = 10,
             .contract = "x: any; y_scale: one | [x.$axis:1]; y_zero_point?: count y_scale")

}  // namespace
}  // namespace tenon::opencl
