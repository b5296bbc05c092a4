// Normalisations: BatchNormalization, those over a line of elements (Layer, Instance, Group, RMS,
// MeanVariance, Lp), and LRN.
#include "tenon/ep/device/ops/normalization.hpp"

#include "kernels/common/copy.h"
#include "shaders/normalization.Batch.h"
#include "shaders/normalization.Lines.h"
#include "shaders/normalization.LinesAt.h"
#include "shaders/normalization.LpNorm.h"
#include "shaders/normalization.Lrn.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {"Batch", &shaders::normalization_Batch},     {"Lines", &shaders::normalization_Lines},
    {"LinesAt", &shaders::normalization_LinesAt}, {"LpNorm", &shaders::normalization_LpNorm},
    {"Lrn", &shaders::normalization_Lrn},
};
using Kernels = Backend<kSources>;

TENON_KERNEL(ops::BatchNormalization<Kernels>, .op_type = "BatchNormalization", .since = 7,
             .contract = "X: [N, C, D...] | [N]; scale: [C]; B: [C]; mean: [C]; var: [C]")
TENON_KERNEL(ops::LayerNorm<Kernels>, .op_type = "LayerNormalization", .since = 1,
             .contract = "X: rank 1..; Scale: ~ X; B?: ~ X")
TENON_KERNEL(ops::LayerNorm<Kernels>, .op_type = "RMSNormalization", .since = 23,
             .contract = "X: rank 1..; scale: ~ X")
TENON_KERNEL(ops::InstanceNorm<Kernels>, .op_type = "InstanceNormalization", .since = 6,
             .contract = "input: [N, C, D...] & rank 3..; scale: [C]; B: [C]")
TENON_KERNEL(ops::GroupNorm<Kernels>, .op_type = "GroupNormalization", .since = 21,
             .contract = "X: [N, C, D...]; scale: [C]; bias: [C]")
TENON_KERNEL(ops::LpNormalization<Kernels>, .op_type = "LpNormalization", .since = 1,
             .contract = "input: rank 1..")
TENON_KERNEL(ops::Lrn<Kernels>, .op_type = "LRN", .since = 1, .contract = "X: [N, C, D...]")

}  // namespace
}  // namespace tenon::vulkan
