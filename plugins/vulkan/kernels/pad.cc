#include "tenon/ep/device/ops/pad.hpp"

#include "kernels/common/copy.h"
#include "shaders/pad.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {"Pad", &shaders::pad},
};
using Kernels = Backend<kSources>;

TENON_KERNEL(ops::Pad<Kernels>, .op_type = "Pad", .since = 11,
             .contract = "data: rank 0..8; pads: [?] @size; constant_value?: one; axes?: rank 0..1")

}  // namespace
}  // namespace tenon::vulkan
