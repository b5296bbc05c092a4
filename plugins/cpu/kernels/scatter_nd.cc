#include "kernels/common/indices.h"
#include "kernels/common/scatter.h"

namespace tenon::cpu {
namespace {

class ScatterND {
 public:
  explicit ScatterND(const NodeView& node) : reduction_(reduction_from(node.attr_s("reduction", "none"))) {}

  /// Strides of the data.
  using State = Dims;
  State prepare(PrepareContext& p) const {
    require(p.input(1).rank() >= 1, TENON_INVALID_ARGUMENT, "indices are a scalar");
    p.set_output(0, p.input(0).dims());
    p.may_overwrite(0, 0);
    return strides_of(p.input(0).dims());
  }
  void run(const Context& ctx, const State& strides) const {
    const TensorView data = ctx.input(0), indices = ctx.input(1);
    const auto depth = static_cast<size_t>(indices.dims().back());
    const DimsView offsets = nd_offsets(ctx, indices, data.dims(), strides);
    scatter(ctx, data, ctx.input(2), offsets, element_count(data.dims().subspan(depth)), reduction_);
  }

 private:
  Reduction reduction_;
};

TENON_KERNEL(ScatterND, .op_type = "ScatterND", .since = 11)

}  // namespace
}  // namespace tenon::cpu
