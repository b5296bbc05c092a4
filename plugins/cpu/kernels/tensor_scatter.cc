#include "kernels/common/scatter.h"
#include "kernels/common/scratch.h"

namespace tenon::cpu {
namespace {

// Writes `update` into a cache along one axis, from a position per batch on. In circular mode positions wrap
// around.
class TensorScatter {
 public:
  explicit TensorScatter(const NodeView& node)
      : axis_(node.attr_i("axis", -2)), circular_(node.attr_s("mode", "linear") == "circular") {}
  static Support supports(const NodeView& node) {
    return Check(node).attr_is("mode", {"linear", "circular"});
  }

  void prepare(PrepareContext& ctx) const {
    const DimsView cache = ctx.input(0).dims(), update = ctx.input(1).dims();
    const auto axis = static_cast<size_t>(normalize_axis(axis_, ctx.input(0).rank()));
    require(axis > 0, TENON_INVALID_ARGUMENT, "axis is the batch axis");
    for (size_t d = 0; d < cache.size(); ++d)
      require(d == axis ? update[d] <= cache[d] : update[d] == cache[d], TENON_INVALID_ARGUMENT, "update ",
              update, " does not fit past_cache ", cache);
    ctx.set_output(0, cache);
    ctx.may_overwrite(0, 0);
  }
  void run(const Context& ctx) const {
    const TensorView cache = ctx.input(0), update = ctx.input(1);
    const int64_t axis = normalize_axis(axis_, cache.rank());
    const Around at = around(cache.dims(), axis);
    const int64_t length = update.dim(static_cast<int>(axis)), batch = cache.dim(0);
    const DimsView starts = ctx.has_input(2) ? int_list(ctx, ctx.input(2)) : DimsView();
    const std::span<int64_t> offsets = scratch_list<int64_t>(ctx, at.outer * length);
    CancelPoint point(ctx);
    for (int64_t o = 0; o < at.outer; ++o) {
      const int64_t start = starts.empty() ? 0 : starts[static_cast<size_t>(o / (at.outer / batch))];
      require(start >= 0 && start <= at.axis, TENON_OUT_OF_RANGE, "position ", start,
              " is outside the cache of ", at.axis, " elements");
      point.pass(length);
      for (int64_t i = 0; i < length; ++i) {
        int64_t position = start + i;
        if (circular_ && at.axis > 0) position %= at.axis;
        require(position < at.axis, TENON_OUT_OF_RANGE, "position ", position, " is outside the cache of ",
                at.axis, " elements");
        offsets[static_cast<size_t>(o * length + i)] = (o * at.axis + position) * at.inner;
      }
    }
    scatter(ctx, cache, update, offsets, at.inner, Reduction::kNone);
  }

 private:
  int64_t axis_;
  bool circular_;
};

TENON_KERNEL(
    TensorScatter, .op_type = "TensorScatter", .since = 24,
    .contract = "past_cache: rank 2..; update: rank past_cache; write_indices?: [past_cache.0] @index")

}  // namespace
}  // namespace tenon::cpu
