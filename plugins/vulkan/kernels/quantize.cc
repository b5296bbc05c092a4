// QuantizeLinear and DequantizeLinear, per tensor or axis: float32 and 8-bit integers, int32 to float32.
#include "tenon/ep/device/ops/quantize.hpp"

#include "kernels/common/copy.h"
#include "shaders/quantize.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {"QuantizeLinear", &shaders::quantize},
    {"DequantizeLinear", &shaders::quantize},
};
using Kernels = Backend<kSources>;

TENON_KERNEL(ops::Quantize<Kernels>, .op_type = "QuantizeLinear", .since = 10,
             .contract = "x: any; y_scale: one | [x.$axis:1]; y_zero_point?: count y_scale")
TENON_KERNEL(ops::Quantize<Kernels>, .op_type = "DequantizeLinear", .since = 10,
             .contract = "x: any; y_scale: one | [x.$axis:1]; y_zero_point?: count y_scale")

}  // namespace
}  // namespace tenon::vulkan
