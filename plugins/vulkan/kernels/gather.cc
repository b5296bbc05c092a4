// Gather, GatherElements and GatherND. Negative indices count from the end. An index out of range is an error
// in prepare() if the indices are constant, otherwise when the host waits for the work.
#include "tenon/ep/device/ops/gather.hpp"

#include "kernels/common/copy.h"
#include "shaders/gather.Gather.h"
#include "shaders/gather.GatherElements.h"
#include "shaders/gather.GatherND.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {"Gather", &shaders::gather_Gather},
    {"GatherElements", &shaders::gather_GatherElements},
    {"GatherND", &shaders::gather_GatherND},
};
using Kernels = Backend<kSources>;

TENON_KERNEL(ops::Gather<Kernels>, .op_type = "Gather", .since = 1,
             .contract = "data: rank 1..; indices: any @index")
TENON_KERNEL(ops::GatherElements<Kernels>, .op_type = "GatherElements", .since = 11,
             .contract = "data: rank 1..; indices: rank data @index")
TENON_KERNEL(ops::GatherND<Kernels>, .op_type = "GatherND", .since = 11,
             .contract = "data: rank 1..; indices: rank 1.. @index")

}  // namespace
}  // namespace tenon::vulkan
