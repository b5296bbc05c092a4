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

/// Kernels Lines and LinesAt. The places of scale and bias stay below those of x: a scale that broadcasts has no more elements.
struct DenseLines {
  template <class... Rest>
  static Rows rows_of(const TensorArg&, const TensorArg&, const TensorArg&, const TensorArg&,
                      const TensorArg&, const TensorArg&, int32_t lines, int32_t count, const Rest&...) {
    return {static_cast<size_t>(lines), static_cast<size_t>(count), false};
  }
  template <class... Rest>
  static Rows rows_of(const TensorArg& x, const TensorArg& scale, const TensorArg& bias, const TensorArg& y,
                      const TensorArg& mean, const TensorArg& inverse, const Walk&, const Rest&... rest) {
    return rows_of(x, scale, bias, y, mean, inverse, rest...);
  }
  template <class List, class... Rest>
  static void list(const List& list, const Rows& rows, const TensorArg& x, const TensorArg& scale,
                   const TensorArg& bias, const TensorArg& y, const TensorArg& mean, const TensorArg& inverse,
                   int32_t, int32_t, const Rest&... rest) {
    list(items_of(static_cast<int64_t>(rows.count)), x, scale, bias, y, mean, inverse,
         static_cast<int32_t>(rows.count), static_cast<int32_t>(rows.length), rest...);
  }
  template <class List, class... Rest>
  static void list(const List& list, const Rows& rows, const TensorArg& x, const TensorArg& scale,
                   const TensorArg& bias, const TensorArg& y, const TensorArg& mean, const TensorArg& inverse,
                   const Walk& walk, int32_t, int32_t, const Rest&... rest) {
    list(items_of(static_cast<int64_t>(rows.count)), x, scale, bias, y, mean, inverse, walk,
         static_cast<int32_t>(rows.count), static_cast<int32_t>(rows.length), rest...);
  }
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
