// Softmax, LogSoftmax and Hardmax along one axis; before version 13, along all axes from `axis` on.
#include "tenon/ep/device/ops/softmax.hpp"

#include "kernels/common/copy.h"
#include "shaders/softmax.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {"Softmax", &shaders::softmax},
    {"LogSoftmax", &shaders::softmax},
    {"Hardmax", &shaders::softmax},
};
using Kernels = Backend<kSources>;

TENON_KERNEL(ops::Softmax<Kernels>, .op_type = "Softmax", .since = 1, .contract = "input: any")
TENON_KERNEL(ops::Softmax<Kernels>, .op_type = "LogSoftmax", .since = 1, .contract = "input: any")
TENON_KERNEL(ops::Softmax<Kernels>, .op_type = "Hardmax", .since = 1, .contract = "input: any")

}  // namespace
}  // namespace tenon::vulkan
