// TopK along one axis.
#include "tenon/ep/device/ops/top_k.hpp"

#include "kernels/common/kernel.h"
#include "shaders/top_k.float.h"
#include "shaders/top_k.int.h"
#include "shaders/top_k.long.h"
#include "shaders/top_k.uint.h"
#include "shaders/top_k.ulong.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {"TopK", &shaders::top_k_float, &shaders::top_k_int, &shaders::top_k_uint, &shaders::top_k_long,
     &shaders::top_k_ulong},
};
using Kernels = Backend<kSources>;

TENON_KERNEL(ops::TopK<Kernels>, .op_type = "TopK", .since = 1, .until = 9, .contract = "X: rank 1..")
TENON_KERNEL(ops::TopK<Kernels>, .op_type = "TopK", .since = 10, .contract = "X: rank 1..; K: one @size")

}  // namespace
}  // namespace tenon::vulkan
