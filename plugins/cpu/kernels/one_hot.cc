#include "kernels/common/scratch.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

class OneHot {
 public:
  static constexpr int shape_inputs[] = {1};
  explicit OneHot(const NodeView& node) : axis_(node.attr_i("axis", -1)) {}

  void prepare(PrepareContext& ctx) const {
    const int rank = ctx.input(0).rank() + 1;
    Dims dims(ctx.input(0).dims().begin(), ctx.input(0).dims().end());
    dims.insert(dims.begin() + normalize_axis(axis_, rank), whole_number(ctx.input(1), "depth"));
    ctx.set_output(0, dims);
  }
  void run(const Context& ctx) const {
    const TensorView indices = ctx.input(0), values = ctx.input(2);  // values: [off, on]
    if (ctx.output(0).size() == 0 && values.dtype() != TENON_STRING) return;
    const Around at = around(ctx.output(0).dims(), normalize_axis(axis_, indices.rank() + 1));
    const std::span<int64_t> hot = scratch_list<int64_t>(ctx, indices.size());
    dispatch(kNumericTypes, indices.dtype(), [&]<class T>() {
      for (size_t i = 0; i < hot.size(); ++i)
        hot[i] = place(static_cast<Compute<T>>(indices.at<T>(static_cast<int64_t>(i))), at.axis);
    });
    BlockWriter writer(ctx, 0);
    CancelPoint point(ctx);
    for (int64_t o = 0; o < at.outer; ++o)
      for (int64_t d = 0; d < at.axis; ++d) {
        point.pass(at.inner);
        for (int64_t i = 0; i < at.inner; ++i)
          writer.append(values, hot[static_cast<size_t>(o * at.inner + i)] == d ? 1 : 0, 1);
      }
    writer.finish();
  }

 private:
  /// The position of an index, which counts from the end when negative. -1 (off everywhere) when out of
  /// range.
  template <class C>
  static int64_t place(C index, int64_t depth) {
    if constexpr (std::is_floating_point_v<C>) {
      if (!(std::fabs(index) < C(9e18))) return -1;
    } else if constexpr (std::is_unsigned_v<C>) {
      if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(depth)) return -1;
    }
    const auto at = static_cast<int64_t>(index);
    return at < 0 ? std::max<int64_t>(at + depth, -1) : at;
  }

  int64_t axis_;
};

TENON_KERNEL(OneHot, .op_type = "OneHot", .since = 9,
             .contract = "indices: rank 1..; depth: one @size; values: [2]")

}  // namespace
}  // namespace tenon::cpu
