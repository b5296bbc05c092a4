// ConvTranspose.
#include "tenon/ep/device/ops/conv_transpose.hpp"

#include "kernels/common/kernel.h"
#include "shaders/conv_transpose.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {{"Spread", &shaders::conv_transpose}};
using Kernels = Backend<kSources>;

TENON_KERNEL(ops::ConvTranspose<Kernels>, .op_type = "ConvTranspose", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..5; W: [C, M, K...] & rank X; B?: [M*$group]")

}  // namespace
}  // namespace tenon::vulkan
