// Softmax, LogSoftmax and Hardmax along one axis; before version 13, along all axes from `axis` on.
#include "tenon/ep/device/ops/softmax.hpp"

#include "kernels/common/copy.h"
#include "kernels/common/rows.h"
#include "shaders/softmax.item.h"
#include "shaders/softmax.shared.h"
#include "shaders/softmax.subgroup.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource source(std::string_view name) {
  return {.name = name,
          .real = &shaders::softmax_item,
          .shared = &shaders::softmax_shared,
          .subgroup = &shaders::softmax_subgroup};
}
constexpr KernelSource kSources[] = {source("Softmax"), source("LogSoftmax"), source("Hardmax")};
using Kernels = RowBackend<kSources, Lines>;

TENON_KERNEL(ops::Softmax<Kernels>, .op_type = "Softmax", .since = 1, .contract = "input: any")
TENON_KERNEL(ops::Softmax<Kernels>, .op_type = "LogSoftmax", .since = 1, .contract = "input: any")
TENON_KERNEL(ops::Softmax<Kernels>, .op_type = "Hardmax", .since = 1, .contract = "input: any")

}  // namespace
}  // namespace tenon::vulkan
