#include "tenon/ep/device/ops/cast.hpp"

#include "kernels/common/copy.h"
#include "shaders/cast.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {"Cast", &shaders::cast},
};
using Kernels = Backend<kSources>;

TENON_KERNEL(ops::Cast<Kernels>, .op_type = "Cast", .since = 6, .contract = "input: any")
TENON_KERNEL(ops::Cast<Kernels>, .op_type = "CastLike", .since = 15,
             .contract = "input: any; target_type: any")

}  // namespace
}  // namespace tenon::vulkan
