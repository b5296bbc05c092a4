#include <array>

#include "kernels/common/indices.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

class GatherElements {
 public:
  explicit GatherElements(const NodeView& node) : axis_(node.attr_i("axis", 0)) {}

  /// Strides of the data.
  using State = Dims;
  State prepare(PrepareContext& p) const {
    const DimsView data = p.input(0).dims(), indices = p.input(1).dims();
    const int axis = normalize_axis(axis_, static_cast<int>(data.size()));
    for (size_t d = 0; d < data.size(); ++d)
      require(d == static_cast<size_t>(axis) || indices[d] <= data[d], TENON_INVALID_ARGUMENT,
              "indices of shape ", indices, " exceed data of shape ", data, " in dim ", d);
    p.set_output(0, p.input(1).dims());
    return strides_of(p.input(0).dims());
  }
  void run(const Context& ctx, const State& strides) const {
    const TensorView in = ctx.input(0), index_tensor = ctx.input(1);
    const auto axis = static_cast<size_t>(normalize_axis(axis_, in.rank()));
    BlockWriter writer(ctx, 0);
    std::array<int64_t, TENON_EP_MAX_RANK> position{};
    for (const int64_t index : checked_indices(ctx, index_tensor, in.dims()[axis])) {
      int64_t offset = 0;
      for (size_t d = 0; d < strides.size(); ++d) offset += (d == axis ? index : position[d]) * strides[d];
      writer.append(in, offset, 1);
      for (size_t d = strides.size(); d-- > 0 && ++position[d] == index_tensor.dims()[d];) position[d] = 0;
    }
    writer.finish();
  }

 private:
  int64_t axis_;
};

TENON_KERNEL(GatherElements, .op_type = "GatherElements", .since = 11,
             .contract = "data: rank 1..; indices: rank data @index")

}  // namespace
}  // namespace tenon::cpu
