#include <array>

#include "kernels/common/indices.h"
#include "kernels/common/scatter.h"

namespace tenon::cpu {
namespace {

class ScatterElements {
 public:
  explicit ScatterElements(const NodeView& node)
      : axis_(node.attr_i("axis", 0)), reduction_(reduction_from(node.attr_s("reduction", "none"))) {}

  /// Strides of the data.
  using State = Dims;
  State prepare(PrepareContext& p) const {
    const DimsView data = p.input(0).dims(), indices = p.input(1).dims();
    const auto axis = static_cast<size_t>(normalize_axis(axis_, p.input(0).rank()));
    for (size_t d = 0; d < data.size(); ++d)
      require(d == axis || indices[d] <= data[d], TENON_INVALID_ARGUMENT, "indices ", indices,
              " are larger than data ", data, " along axis ", d);
    p.set_output(0, p.input(0).dims());
    p.may_overwrite(0, 0);
    return strides_of(p.input(0).dims());
  }
  void run(const Context& ctx, const State& strides) const {
    const TensorView data = ctx.input(0), index_tensor = ctx.input(1);
    const auto axis = static_cast<size_t>(normalize_axis(axis_, data.rank()));
    const std::span<int64_t> offsets = checked_indices(ctx, index_tensor, data.dims()[axis]);
    std::array<int64_t, TENON_EP_MAX_RANK> position{};
    CancelPoint point(ctx);
    for (int64_t& entry : offsets) {
      point.pass();
      const int64_t index = entry;
      entry = 0;
      for (size_t d = 0; d < strides.size(); ++d) {
        entry += (d == axis ? index : position[d]) * strides[d];
      }
      for (size_t d = strides.size(); d-- > 0 && ++position[d] == index_tensor.dims()[d];) position[d] = 0;
    }
    scatter(ctx, data, ctx.input(2), offsets, 1, reduction_);
  }

 private:
  int64_t axis_;
  Reduction reduction_;
};

using Scatter = ScatterElements;

TENON_KERNEL(Scatter, .op_type = "Scatter", .since = 9,
             .contract = "data: rank 1..; indices: rank data @index; updates: = indices")
TENON_KERNEL(ScatterElements, .op_type = "ScatterElements", .since = 11,
             .contract = "data: rank 1..; indices: rank data @index; updates: = indices")

}  // namespace
}  // namespace tenon::cpu
