#include "kernels/common/gemm.h"

#include "shaders/gemm.tt1.h"
#include "shaders/gemm.tt4.h"
#include "shaders/gemm.tt8.h"
#include "shaders/gemm.wt1.h"
#include "shaders/gemm.wt8.h"
#include "shaders/gemm.ww1.h"
#include "shaders/gemm.ww8.h"
#include "shaders/gemm_single.float.h"
#include "shaders/gemm_single.int.h"
#include "shaders/gemm_single.long.h"
#include "shaders/gemm_single.uint.h"
#include "shaders/gemm_single.ulong.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSingle[] = {{"single", &shaders::gemm_single_float, &shaders::gemm_single_int,
                                     &shaders::gemm_single_uint, &shaders::gemm_single_long,
                                     &shaders::gemm_single_ulong}};

/// How a bias is added: constant BIAS of gemm.comp.
enum BiasKind : uint32_t { kNoBias, kBiasPerRow, kBiasPerColumn, kBiasPerElement };
BiasKind bias_of(const GemmArgs& args) {
  if (args.beta == 0) return kNoBias;
  if (args.shape.bias_column == 0) return kBiasPerRow;
  return args.shape.bias_row == 0 ? kBiasPerColumn : kBiasPerElement;
}

/// Whether all of a matrix is read as texels from its rows on.
bool is_by_four(const Walk& batches, int operand, int32_t row) {
  bool out = row % 4 == 0;
  for (int d = 0; d < batches.rank; ++d) out = out && batches.stride[operand][d] % 4 == 0;
  return out;
}

}  // namespace

GemmKernels::GemmKernels(const NodeView& node, uint32_t dtype, int64_t, int64_t)
    : dtype_(dtype), single_(load_kernel(node, kSingle, "single", {computes_in(dtype)})) {}

GemmKernels::Choice GemmKernels::choose(const GemmArgs& args, bool adds, bool a_fits, bool b_fits,
                                        bool y_fits, bool addend_fits) const {
  const GemmShape& s = args.shape;
  if (!kRealTypes.contains(dtype_) || s.columns < 4) {
    KernelRef single = single_;
    single.constants.push_back(adds);
    return {single, 1, 1};
  }
  const bool by_four =
      y_fits && (!adds || addend_fits) && s.columns % 4 == 0 && is_by_four(s.batches, 2, s.y_row);
  const auto load = [&](const Shader& shader) {
    return KernelRef{
        &shader, {0, dtype_, by_four, bias_of(args), args.lowest != args.highest, adds}, single_.device};
  };
  const bool b_texels = b_fits && is_by_four(s.batches, 1, s.b_depth);
  const bool a_texels =
      b_texels && a_fits && s.a_depth == 1 && s.depth % 4 == 0 && is_by_four(s.batches, 0, s.a_row);
  if (a_texels) {
    if (s.rows >= 8) return {load(shaders::gemm_tt8), 8, 8, true, true};
    return s.rows >= 4 ? Choice{load(shaders::gemm_tt4), 4, 8, true, true}
                       : Choice{load(shaders::gemm_tt1), 1, 8, true, true};
  }
  if (b_texels)
    return s.rows >= 8 ? Choice{load(shaders::gemm_wt8), 8, 8, false, true}
                       : Choice{load(shaders::gemm_wt1), 1, 8, false, true};
  return s.rows >= 8 ? Choice{load(shaders::gemm_ww8), 8, 8} : Choice{load(shaders::gemm_ww1), 1, 8};
}

}  // namespace tenon::vulkan
