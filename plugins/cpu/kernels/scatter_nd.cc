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
    const DimsView data = p.input(0).dims(), indices = p.input(1).dims();
    const int64_t depth = indices.back();
    require(depth <= static_cast<int64_t>(data.size()), TENON_INVALID_ARGUMENT, "index rows have ", depth,
            " entries for rank ", data.size());
    Dims updates(indices.begin(), indices.end() - 1);
    updates.insert(updates.end(), data.begin() + depth, data.end());
    require(std::equal(updates.begin(), updates.end(), p.input(2).dims().begin(), p.input(2).dims().end()),
            TENON_INVALID_ARGUMENT, "updates have shape ", p.input(2).dims(), ", where data ", data,
            " and indices ", indices, " need ", DimsView(updates));
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

TENON_KERNEL(ScatterND, .op_type = "ScatterND", .since = 11,
             .contract = "data: rank 1..; indices: rank 1.. @index; updates: any")

}  // namespace
}  // namespace tenon::cpu
