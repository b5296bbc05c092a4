#include "kernels/common/scatter.h"
#include "kernels/common/scratch.h"

namespace tenon::cpu {
namespace {

// Writes `update` into a cache along one axis, from a position for each batch on; circular when asked.
class TensorScatter {
 public:
  explicit TensorScatter(const NodeView& node)
      : axis_(node.attr_i("axis", -2)), circular_(node.attr_s("mode", "linear") == "circular") {}
  static Support supports(const NodeView& node) {
    return Check(node).attr_is("mode", {"linear", "circular"});
  }

  void prepare(PrepareContext& ctx) const {
    ctx.set_output(0, ctx.input(0).dims());
    ctx.may_overwrite(0, 0);
  }
  void run(const Context& ctx) const {
    const TensorView cache = ctx.input(0), update = ctx.input(1);
    const int64_t axis = normalize_axis(axis_, cache.rank());
    require(axis > 0, TENON_INVALID_ARGUMENT, "axis is the batch axis");
    const Around at = around(cache.dims(), axis);
    const int64_t length = update.dim(static_cast<int>(axis)), batch = cache.dim(0);
    const DimsView starts = ctx.has_input(2) ? int_list(ctx, ctx.input(2)) : DimsView();
    require(!ctx.has_input(2) || static_cast<int64_t>(starts.size()) == batch, TENON_INVALID_ARGUMENT,
            "write_indices has ", starts.size(), " entries for ", batch, " batches");
    const std::span<int64_t> offsets = scratch_list<int64_t>(ctx, at.outer * length);
    for (int64_t o = 0; o < at.outer; ++o) {
      const int64_t start = starts.empty() ? 0 : starts[static_cast<size_t>(o * batch / at.outer)];
      for (int64_t i = 0; i < length; ++i) {
        int64_t position = start + i;
        if (circular_ && at.axis > 0) position %= at.axis;
        require(position >= 0 && position < at.axis, TENON_OUT_OF_RANGE, "position ", position,
                " is outside of the cache of ", at.axis);
        offsets[static_cast<size_t>(o * length + i)] = (o * at.axis + position) * at.inner;
      }
    }
    scatter(ctx, cache, update, offsets, at.inner, Reduction::kNone);
  }

 private:
  int64_t axis_;
  bool circular_;
};

TENON_KERNEL(TensorScatter, .op_type = "TensorScatter", .since = 24)

}  // namespace
}  // namespace tenon::cpu
