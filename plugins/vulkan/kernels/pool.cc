// Pooling: MaxPool with indices, AveragePool, LpPool and their global forms.
#include "tenon/ep/device/ops/pool.hpp"

#include "kernels/common/copy.h"
#include "shaders/pool.float.h"
#include "shaders/pool.int.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {"MaxPool", &shaders::pool_float, &shaders::pool_int},
    {"AveragePool", &shaders::pool_float, &shaders::pool_int},
    {"L1Pool", &shaders::pool_float, &shaders::pool_int},
    {"L2Pool", &shaders::pool_float, &shaders::pool_int},
    {"LpPool", &shaders::pool_float, &shaders::pool_int},
};
struct NoLines {};
struct Kernels : Backend<kSources> {
  using Lines = NoLines;
  static constexpr bool kHasLines = false;
  static bool lines_fit(const NodeView&) { return false; }
};

TENON_KERNEL(ops::WindowPool<Kernels>, .op_type = "MaxPool", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..5")
TENON_KERNEL(ops::WindowPool<Kernels>, .op_type = "AveragePool", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..5")
TENON_KERNEL(ops::WindowPool<Kernels>, .op_type = "LpPool", .since = 2,
             .contract = "X: [N, C, D...] & rank 3..5")
TENON_KERNEL(ops::GlobalPool<Kernels>, .op_type = "GlobalMaxPool", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..")
TENON_KERNEL(ops::GlobalPool<Kernels>, .op_type = "GlobalAveragePool", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..")
TENON_KERNEL(ops::GlobalPool<Kernels>, .op_type = "GlobalLpPool", .since = 2,
             .contract = "X: [N, C, D...] & rank 3..")

}  // namespace
}  // namespace tenon::vulkan
