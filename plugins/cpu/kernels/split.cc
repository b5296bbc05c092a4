#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

/// One walk for each output.
using SplitState = std::vector<StridedWalk>;

// `piece(i)` gives the length of output `i` where the host has not inferred it.
template <class F>
SplitState plan_split(PrepareContext& p, int64_t axis_of_attribute, F&& piece) {
  const DimsView in = p.input(0).dims();
  const auto axis = static_cast<size_t>(normalize_axis(axis_of_attribute, p.input(0).rank()));
  const Dims strides = strides_of(in);
  SplitState walks;
  int64_t offset = 0;
  for (int i = 0; i < p.output_count(); ++i) {
    // An output that nobody wants still takes its piece.
    Dims dims(in.begin(), in.end());
    dims[axis] = p.knows_output(i) ? p.output(i)[axis] : piece(i, in[axis]);
    p.set_output(i, dims);
    walks.emplace_back(dims, strides, offset * strides[axis]);
    offset += dims[axis];
  }
  require(offset <= in[axis], TENON_INVALID_ARGUMENT, "the pieces add up to ", offset, " of ", in[axis]);
  return walks;
}

void split(const Context& ctx, const SplitState& walks) {
  for (int i = 0; i < ctx.output_count(); ++i)
    if (ctx.has_output(i)) copy_strided(ctx, ctx.input(0), i, walks[static_cast<size_t>(i)]);
}

// The sizes are an input; without it the last piece takes what is left.
class Split {
 public:
  static constexpr int shape_inputs[] = {1};
  using State = SplitState;
  explicit Split(const NodeView& node) : axis_(node.attr_i("axis", 0)) {}

  State prepare(PrepareContext& p) const {
    const Dims sizes = p.has_input(1) ? p.input(1).to_dims() : Dims();
    return plan_split(p, axis_, [&](int i, int64_t dim) {
      if (!sizes.empty()) return sizes.at(static_cast<size_t>(i));
      const int64_t pieces = p.output_count(), size = (dim + pieces - 1) / pieces;
      return std::clamp<int64_t>(dim - i * size, 0, size);
    });
  }
  void run(const Context& ctx, const State& walks) const { split(ctx, walks); }

 private:
  int64_t axis_;
};

// Split-1 to -11: the sizes are an attribute.
class SplitAttribute {
 public:
  using State = SplitState;
  explicit SplitAttribute(const NodeView& node)
      : axis_(node.attr_i("axis", 0)), sizes_(node.attr_ints("split")) {}

  State prepare(PrepareContext& p) const {
    return plan_split(p, axis_, [&](int i, int64_t dim) {
      return sizes_.empty() ? dim / p.output_count() : sizes_.at(static_cast<size_t>(i));
    });
  }
  void run(const Context& ctx, const State& walks) const { split(ctx, walks); }

 private:
  int64_t axis_;
  Dims sizes_;
};

TENON_KERNEL(SplitAttribute, .op_type = "Split", .since = 1, .until = 12)
TENON_KERNEL(Split, .op_type = "Split", .since = 13)

}  // namespace
}  // namespace tenon::cpu
