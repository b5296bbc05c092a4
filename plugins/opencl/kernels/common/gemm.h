// Matrix products for all operators that need one: y = alpha * a * b + beta * bias, in batches.
//
// Each work-item keeps 8 rows of 32 columns of y in registers and streams a and b past them, without local
// memory or barriers. Tiles at the edges are moved inwards and overlap. Small matrices have their own
// variants.
#pragma once

#include "kernels/common/kernel.h"
#include "tenon/ep/device/ops/gemm.hpp"

namespace tenon::opencl {

using ops::GemmArgs;
using ops::GemmShape;

/// The kernels for one element type.
class GemmKernels {
 public:
  GemmKernels() = default;
  /// `rows`, `columns`: of the product, or -1 if not known. Warms the variants that will be needed.
  GemmKernels(const NodeView& node, uint32_t dtype, int64_t rows, int64_t columns);

  template <class A, class B, class Bias, class Y>
  void record(Recorder& ctx, const GemmArgs& args, const A& a, const B& b, const Bias& bias,
              const Y& y) const {
    const GemmShape& s = args.shape;
    const KernelRef& kernel = choose(s.rows, s.columns);
    launch(ctx, kernel, global(s), a, b, bias, y, s.batches, s.rows, s.columns, s.depth, s.a_row, s.a_depth,
           s.b_depth, s.y_row, s.bias_row, s.bias_column, args.alpha, args.beta, args.lowest, args.highest);
  }

 private:
  const KernelRef& choose(int64_t rows, int64_t columns) const;
  Size3 global(const GemmShape& shape) const;

  KernelRef tile_, row_, single_;
};

}  // namespace tenon::opencl
