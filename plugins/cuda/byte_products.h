// Products of int8 with sums of int32 through cuBLASLt. Its tensor cores take both matrices by their depth, so that a constant on the
// right is turned once; and they know no zero points.
#pragma once

#include "kernels/common/copy.h"
#include "products.h"

namespace tenon::cuda {

/// Where the inputs of a node are.
struct ByteInputs {
  int a, b, a_zero, b_zero;
};

/// The products of one node.
class ByteProducts {
 public:
  ByteProducts() = default;
  ByteProducts(const NodeView& node, const ByteInputs& inputs);

  /// For `rows` of a in all. Asks for workspace. What record() needs.
  GemmArgs prepare(PrepareContext& p, int64_t rows, int64_t columns, int64_t depth) const;

  /// Lists y = a * b. Returns false, and lists nothing, if own kernels shall do it. `own(recorder, a, b, y)` lists them for given
  /// memory.
  template <class Own>
  bool record(Recorder& ctx, const GemmArgs& args, const TensorView& a, const TensorView& b,
              const OutputTensor& y, const Own& own) const {
    if (!is_used_ || !products_.takes(args, false)) return false;
    const TensorArg none{&kNoTensor};
    return products_.record(ctx, args, in(a), turned(ctx, args, b), none, none, out(y),
                            [&](Recorder& to, const auto& left, const auto& right, const auto&, const auto&,
                                const auto& result) { own(to, left, right, result); });
  }

 private:
  PieceArg turned(Recorder& ctx, const GemmArgs& args, const TensorView& b) const;

  bool is_used_ = false;
  NodeProducts products_;
  CopyKernels copies_;
};

}  // namespace tenon::cuda
