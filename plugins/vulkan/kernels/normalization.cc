// Normalisations: BatchNormalization, those over a line of elements (Layer, Instance, Group, RMS,
// MeanVariance, Lp), and LRN.
#include "tenon/ep/device/ops/normalization.hpp"

#include "kernels/common/copy.h"
#include "kernels/common/rows.h"
#include "shaders/normalization.Batch.h"
#include "shaders/normalization.Lines.h"
#include "shaders/normalization.LinesAt.h"
#include "shaders/normalization.LinesAt_shared.h"
#include "shaders/normalization.LinesAt_subgroup.h"
#include "shaders/normalization.Lines_shared.h"
#include "shaders/normalization.Lines_subgroup.h"
#include "shaders/normalization.LpNorm.h"
#include "shaders/normalization.LpNorm_shared.h"
#include "shaders/normalization.LpNorm_subgroup.h"
#include "shaders/normalization.Lrn.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {.name = "Batch", .real = &shaders::normalization_Batch},
    {.name = "Lines",
     .real = &shaders::normalization_Lines,
     .shared = &shaders::normalization_Lines_shared,
     .subgroup = &shaders::normalization_Lines_subgroup},
    {.name = "LinesAt",
     .real = &shaders::normalization_LinesAt,
     .shared = &shaders::normalization_LinesAt_shared,
     .subgroup = &shaders::normalization_LinesAt_subgroup},
    {.name = "LpNorm",
     .real = &shaders::normalization_LpNorm,
     .shared = &shaders::normalization_LpNorm_shared,
     .subgroup = &shaders::normalization_LpNorm_subgroup},
    {.name = "Lrn", .real = &shaders::normalization_Lrn},
};

using Kernels = Backend<kSources>;
using DenseKernels = RowBackend<kSources, DenseLines>;
using LineKernels = RowBackend<kSources, Lines>;

TENON_KERNEL(ops::BatchNormalization<Kernels>, .op_type = "BatchNormalization", .since = 7,
             .contract = "X: [N, C, D...] | [N]; scale: [C]; B: [C]; mean: [C]; var: [C]")
TENON_KERNEL(ops::LayerNorm<DenseKernels>, .op_type = "LayerNormalization", .since = 1,
             .contract = "X: rank 1..; Scale: ~ X; B?: ~ X")
TENON_KERNEL(ops::LayerNorm<DenseKernels>, .op_type = "RMSNormalization", .since = 23,
             .contract = "X: rank 1..; scale: ~ X")
TENON_KERNEL(ops::InstanceNorm<DenseKernels>, .op_type = "InstanceNormalization", .since = 6,
             .contract = "input: [N, C, D...] & rank 3..; scale: [C]; B: [C]")
TENON_KERNEL(ops::GroupNorm<DenseKernels>, .op_type = "GroupNormalization", .since = 21,
             .contract = "X: [N, C, D...]; scale: [C]; bias: [C]")
TENON_KERNEL(ops::LpNormalization<LineKernels>, .op_type = "LpNormalization", .since = 1,
             .contract = "input: rank 1..")
TENON_KERNEL(ops::Lrn<Kernels>, .op_type = "LRN", .since = 1, .contract = "X: [N, C, D...]")

}  // namespace
}  // namespace tenon::vulkan
