// What a library leaves undone of a product's or convolution's result: a bias, an addend and a clamp, in place.
#pragma once

#include "kernels/common/kernel.h"

namespace tenon::cuda {

/// The result y as matrices stored by rows.
struct FinishArgs {
  Walk batches{};  // operands as in GemmShape: strides of y and of the bias are read
  int32_t rows = 0, columns = 0, y_row = 0;
  int32_t bias_row = 0, bias_column = 0;
  float beta = 1;
  float lowest = 0, highest = 0;  // y is clamped to this range if they differ
};

/// The kernel for one element type.
class Finish {
 public:
  Finish() = default;
  Finish(const NodeView& node, uint32_t dtype);

  /// y = clamp(y + beta * bias + addend). A null argument adds nothing. The addend lies as y does.
  template <class Bias, class Addend, class Y>
  void record(Recorder& ctx, const FinishArgs& args, const Bias& bias, const Addend& addend,
              const Y& y) const {
    launch(ctx, kernel_,
           {static_cast<size_t>(args.columns), static_cast<size_t>(args.rows),
            static_cast<size_t>(args.batches.outer)},
           bias, addend, y, args.batches, args.rows, args.columns, args.y_row, args.bias_row,
           args.bias_column, args.beta, args.lowest, args.highest);
  }

 private:
  KernelRef kernel_;
};

}  // namespace tenon::cuda
