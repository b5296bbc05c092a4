#include "kernels/common/indices.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

class GatherElements {
 public:
  explicit GatherElements(const NodeView& node) : axis_(node.attr_i("axis", 0)) {}

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0), index_tensor = ctx.input(1);
    const auto axis = static_cast<size_t>(normalize_axis(axis_, in.rank()));
    const Dims indices = checked_indices(index_tensor, in.dims()[axis]);
    const Dims strides = strides_of(in.dims());
    BlockWriter writer(ctx, 0);
    Dims position(in.dims().size(), 0);
    for (const int64_t index : indices) {
      int64_t offset = 0;
      for (size_t d = 0; d < position.size(); ++d) offset += (d == axis ? index : position[d]) * strides[d];
      writer.append(in, offset, 1);
      for (size_t d = position.size(); d-- > 0 && ++position[d] == index_tensor.dims()[d];) position[d] = 0;
    }
    writer.finish();
  }

 private:
  int64_t axis_;
};

TENON_KERNEL(GatherElements, .op_type = "GatherElements", .since = 11)

}  // namespace
}  // namespace tenon::cpu
