#include "kernels/common/indices.h"
#include "kernels/common/movement.h"

namespace tenon::cpu {
namespace {

// Selects columns of the last axis; a vector gives one row.
struct ArrayFeatureExtractor {
  static Support supports(const NodeView& n) { return Check(n).input(1, TypeList<int64_t>()); }

  static Dims output_dims(TensorView x, TensorView indices) {
    Dims out(x.dims().begin(), x.dims().end());
    if (out.size() == 1) out.insert(out.begin(), 1);
    out.back() = indices.size();
    return out;
  }
  void prepare(PrepareContext& p) const { p.set_output(0, output_dims(p.input(0), p.input(1))); }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    const int64_t columns = x.dims().back();
    const DimsView picked = checked_indices(ctx, ctx.input(1), columns);
    const auto n = static_cast<int64_t>(picked.size());
    gather_elements(ctx, 0, ctx.output(0).dims(), x,
                    [&](int64_t i) { return i / n * columns + picked[static_cast<size_t>(i % n)]; });
  }
};
TENON_KERNEL(ArrayFeatureExtractor, .domain = "ai.onnx.ml", .op_type = "ArrayFeatureExtractor",
             .contract = "X: rank 1..; Y: any @index")

}  // namespace
}  // namespace tenon::cpu
