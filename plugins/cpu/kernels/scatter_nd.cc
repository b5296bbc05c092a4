#include "kernels/common/indices.h"
#include "kernels/common/scatter.h"

namespace tenon::cpu {
namespace {

class ScatterND {
 public:
  explicit ScatterND(const NodeView& node) : reduction_(reduction_from(node.attr_s("reduction", "none"))) {}

  void prepare(PrepareContext& ctx) const {
    ctx.set_output(0, ctx.input(0).dims());
    ctx.may_overwrite(0, 0);
  }
  void run(const Context& ctx) const {
    const TensorView data = ctx.input(0), indices = ctx.input(1);
    require(indices.rank() >= 1, TENON_INVALID_ARGUMENT, "indices are a scalar");
    const Dims strides = strides_of(data.dims());
    const auto depth = static_cast<size_t>(indices.dims().back());
    const Dims offsets = nd_offsets(indices, data.dims(), strides);
    scatter(ctx, data, ctx.input(2), offsets, element_count(data.dims().subspan(depth)), reduction_);
  }

 private:
  Reduction reduction_;
};

TENON_KERNEL(ScatterND, .op_type = "ScatterND", .since = 11)

}  // namespace
}  // namespace tenon::cpu
