#include "tenon/ep/device/ops/cum_sum.hpp"

#include "kernels/common/copy.h"
#include "shaders/cum_sum.float.h"
#include "shaders/cum_sum.int.h"
#include "shaders/cum_sum.long.h"
#include "shaders/cum_sum.uint.h"
#include "shaders/cum_sum.ulong.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {"CumSum", &shaders::cum_sum_float, &shaders::cum_sum_int, &shaders::cum_sum_uint, &shaders::cum_sum_long,
     &shaders::cum_sum_ulong},
};
using Kernels = Backend<kSources>;

TENON_KERNEL(ops::CumSum<Kernels>, .op_type = "CumSum", .since = 11, .contract = "x: rank 1..; axis: one")

}  // namespace
}  // namespace tenon::vulkan
