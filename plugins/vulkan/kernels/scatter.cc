// ScatterElements (and Scatter) and ScatterND. Updates of one place must be applied in order, so one
// work-item does all that can address the same place: a line along the axis, or a column of the slices.
#include "tenon/ep/device/ops/scatter.hpp"

#include "kernels/common/copy.h"
#include "shaders/scatter.float.h"
#include "shaders/scatter.int.h"
#include "shaders/scatter.long.h"
#include "shaders/scatter.uint.h"
#include "shaders/scatter.ulong.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {"Elements", &shaders::scatter_float, &shaders::scatter_int, &shaders::scatter_uint,
     &shaders::scatter_long, &shaders::scatter_ulong},
    {"Tuples", &shaders::scatter_float, &shaders::scatter_int, &shaders::scatter_uint, &shaders::scatter_long,
     &shaders::scatter_ulong},
};
struct Kernels : Backend<kSources> {
  using Copies = CopyKernels;
};

TENON_KERNEL(ops::ScatterElements<Kernels>, .op_type = "ScatterElements", .since = 11,
             .contract = "data: rank 1..; indices: rank data @index; updates: = indices")
TENON_KERNEL(ops::ScatterElements<Kernels>, .op_type = "Scatter", .since = 9,
             .contract = "data: rank 1..; indices: rank data @index; updates: = indices")
TENON_KERNEL(ops::ScatterND<Kernels>, .op_type = "ScatterND", .since = 11,
             .contract = "data: rank 1..; indices: rank 1.. @index; updates: any")

}  // namespace
}  // namespace tenon::vulkan
