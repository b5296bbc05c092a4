// Matrix products for all operators that need one: y = alpha * a * b + beta * bias + addend, clamped, in batches.
//
// A product goes to the library where that is there and is faster (products.h). The own kernels: tiles through shared memory; few
// rows or columns as sums of a warp or of the warps of a block; and an element per thread for the smallest. The depth is divided
// among blocks where there are too few tiles for the device.
#pragma once

#include "kernels/common/kernel.h"
#include "products.h"
#include "tenon/ep/device/ops/gemm.hpp"

namespace tenon::cuda {

using ops::GemmArgs;
using ops::GemmShape;

/// The struct Numbers of the texts.
struct GemmNumbers {
  int32_t rows = 0, columns = 0, depth = 0;
  int32_t a_row = 0, a_depth = 1, b_depth = 0, b_column = 1, y_row = 0, bias_row = 0, bias_column = 0;
  float alpha = 1, beta = 0, lowest = 0, highest = 0;
  int32_t splits = 1, part = 0, warps = 1;
};

/// How the own kernels do a product. Follows from its shape and the device.
struct GemmPlan {
  enum class Form { kTile, kRows, kDots, kSingle } form = Form::kSingle;
  int32_t side = 0;        // of a tile
  int32_t few = 1;         // rows or columns that a block of kRows or kDots does at once
  int32_t line = 1;        // columns of a thread of kRows
  bool a_is_long = false;  // kDots: a warp reads a row of a; else a column of b
  int32_t splits = 1, part = 0;
  int32_t warps = 1;  // per line of kDots
  Size3 blocks{1, 1, 1};

  /// For tiles of `rows` by `columns` in `batches`.
  static GemmPlan of_tiles(int64_t rows, int64_t columns, int64_t batches, int32_t depth,
                           uint32_t element_bytes, int64_t processors);
};

/// The bytes of an element of the sums of `dtype`: the type S of the texts.
constexpr uint32_t gemm_sum_bytes(uint32_t dtype) { return dtype_bits(dtype) > 32 ? 8 : 4; }

/// The kernels for one element type.
class GemmKernels {
 public:
  static constexpr bool kReadsTurned = true;

  GemmKernels() = default;
  /// `rows`, `columns`: of the product, or -1 if not known. `b_turned`: b is stored by columns.
  GemmKernels(const NodeView& node, uint32_t dtype, int64_t rows, int64_t columns, bool b_turned = false);

  /// Of the node's workspace, for place_workspace(). `adds`: there is an addend.
  uint64_t workspace_bytes(const GemmArgs& args, bool adds) const;

  /// With the addend that is an input of the node, if it has one.
  template <class A, class B, class Bias>
  void record(Recorder& ctx, const GemmArgs& args, const A& a, const B& b, const Bias& bias,
              const TensorArg& y) const {
    record(ctx, args, a, b, bias, in(ctx.input(kAddendInput), y.first), y);
  }
  /// `addend`: of the shape of y, or missing. `a` to `y`: tensors or memory of the kernel.
  template <class A, class B, class Bias, class Addend, class Y>
  void record(Recorder& ctx, const GemmArgs& args, const A& a, const B& b, const Bias& bias,
              const Addend& addend, const Y& y) const {
    const auto own = [&](Recorder& to, const auto&... memory) { multiply(to, args, memory...); };
    if (products_.record(ctx, args, a, b, bias, addend, y, own)) return;
    multiply(ctx, args, a, b, bias, addend, y);
  }

 private:
  template <class A, class B, class Bias, class Addend, class Y>
  void multiply(Recorder& ctx, const GemmArgs& args, const A& a, const B& b, const Bias& bias,
                const Addend& addend, const Y& y) const {
    const GemmShape& s = args.shape;
    if (s.rows == 0 || s.columns == 0 || s.batches.outer == 0) return;
    const GemmPlan plan = plan_of(s);
    const GemmNumbers numbers = numbers_of(args, plan);
    const KernelRef kernel = find(plan, s, false);
    if (plan.splits == 1)
      return launch_blocks(ctx, kernel, plan.blocks, {256, 1, 1}, a, b, bias, addend, y, PieceArg{},
                           s.batches, numbers);
    const WorkspaceArg partial{args.workspace, gemm_sum_bytes(dtype_)};
    launch_blocks(ctx, kernel, plan.blocks, {256, 1, 1}, a, b, bias, addend, y, partial, s.batches, numbers);
    launch(ctx, find(plan, s, true), items_of_sum(s), partial, bias, addend, y, s.batches, numbers);
  }

  GemmPlan plan_of(const GemmShape& shape) const;
  GemmNumbers numbers_of(const GemmArgs& args, const GemmPlan& plan) const;
  /// The kernel of a plan, or the one that adds its parts.
  KernelRef find(const GemmPlan& plan, const GemmShape& shape, bool adds_parts) const;
  static Size3 items_of_sum(const GemmShape& s) {
    return {static_cast<size_t>(s.columns), static_cast<size_t>(s.rows),
            static_cast<size_t>(s.batches.outer)};
  }

  const Instance* instance_ = nullptr;
  uint32_t dtype_ = TENON_FLOAT32;
  bool b_turned_ = false;
  NodeProducts products_;
};

}  // namespace tenon::cuda
