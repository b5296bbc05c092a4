// Resize and Upsample.
#include "tenon/ep/device/ops/resize.hpp"

#include "kernels/common/kernel.h"
#include "shaders/resize.Linear.h"
#include "shaders/resize.Nearest.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {{"Nearest", &shaders::resize_Nearest},
                                     {"Linear", &shaders::resize_Linear}};
using Kernels = Backend<kSources>;

TENON_KERNEL(ops::Resize<Kernels>, .op_type = "Resize", .since = 11,
             .contract = "X: rank 1..8; roi?: [?]; scales?: [?] @size; sizes?: [?] @size")
TENON_KERNEL(ops::Resize<Kernels>, .op_type = "Resize", .since = 10, .until = 10,
             .contract = "X: rank 1..8; scales: [?] @size")
TENON_KERNEL(ops::Resize<Kernels>, .op_type = "Upsample", .since = 9,
             .contract = "X: rank 1..8; scales: [?] @size")
TENON_KERNEL(ops::Resize<Kernels>, .op_type = "Upsample", .since = 7, .until = 8, .contract = "X: rank 1..8")

}  // namespace
}  // namespace tenon::vulkan
