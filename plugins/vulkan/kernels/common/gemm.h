// Matrix products for all operators that need one.
#pragma once

#include "kernels/common/kernel.h"
#include "tenon/ep/device/ops/gemm.hpp"

namespace tenon::vulkan {

using ops::GemmArgs;
using ops::GemmShape;

/// The kernels for one element type.
class GemmKernels {
 public:
  GemmKernels() = default;
  GemmKernels(const NodeView& node, uint32_t dtype, int64_t rows, int64_t columns);

  /// y = alpha * a * b + beta * bias + addend, if the node has one. `a` and `b`: tensors, or memory of the kernel.
  template <class A, class B>
  void record(Recorder& ctx, const GemmArgs& args, const A& a, const B& b, const TensorArg& bias,
              const TensorArg& y) const {
    const GemmShape& s = args.shape;
    const TensorArg addend = in(ctx.input(kAddendInput), y.first);
    const Choice choice = choose(args, ctx.has_input(kAddendInput), fits_texels(ctx, a), fits_texels(ctx, b),
                                 fits_texels(ctx, y), fits_texels(ctx, addend));
    const Size3 items{(static_cast<size_t>(s.columns) + choice.columns - 1) / choice.columns,
                      (static_cast<size_t>(s.rows) + choice.rows - 1) / choice.rows,
                      static_cast<size_t>(s.batches.outer)};
    const auto multiply = [&](const auto& left, const auto& right) {
      launch(ctx, choice.kernel, items, left, right, bias, addend, y, s.batches, s.rows, s.columns, s.depth,
             s.a_row, s.a_depth, s.b_depth, s.y_row, s.bias_row, s.bias_column, args.alpha, args.beta,
             args.lowest, args.highest);
    };
    if (choice.a_texels) return multiply(as_texels(a), as_texels(b));
    if (choice.b_texels) return multiply(a, as_texels(b));
    multiply(a, b);
  }

 private:
  struct Choice {
    KernelRef kernel;
    size_t rows, columns;  // of one work-item
    bool a_texels = false, b_texels = false;
  };
  Choice choose(const GemmArgs& args, bool adds, bool a_fits, bool b_fits, bool y_fits,
                bool addend_fits) const;

  uint32_t dtype_ = TENON_FLOAT32;
  KernelRef single_;
};

}  // namespace tenon::vulkan
