#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

/// One walk per output.
using SplitState = std::vector<StridedWalk>;

// `piece(i, n)` gives the length of output `i` along an axis of `n` elements.
template <class F>
SplitState prepare_split(PrepareContext& p, int64_t axis_of_attribute, F&& piece) {
  const DimsView in = p.input(0).dims();
  const auto axis = static_cast<size_t>(normalize_axis(axis_of_attribute, p.input(0).rank()));
  const Dims strides = strides_of(in);
  SplitState walks;
  int64_t offset = 0;
  for (int i = 0; i < p.output_count(); ++i) {
    // Unused outputs count too.
    Dims dims(in.begin(), in.end());
    dims[axis] = piece(i, in[axis]);
    require(dims[axis] >= 0 && dims[axis] <= in[axis] - offset, TENON_INVALID_ARGUMENT, "piece ", i, " has ",
            dims[axis], " elements, but only ", in[axis] - offset, " of ", in[axis], " are left");
    p.set_output(i, dims);
    walks.emplace_back(dims, strides, offset * strides[axis]);
    offset += dims[axis];
  }
  require(offset == in[axis], TENON_INVALID_ARGUMENT, "the pieces have ", offset,
          " elements in total, but the axis has ", in[axis]);
  return walks;
}

/// Throws an Error unless each output has a size in the list.
void require_sizes(const PrepareContext& p, const Dims& sizes) {
  require(static_cast<int>(sizes.size()) == p.output_count(), TENON_INVALID_ARGUMENT, "split has ",
          sizes.size(), " sizes for ", p.output_count(), " outputs");
}

void split(const Context& ctx, const SplitState& walks) {
  for (int i = 0; i < ctx.output_count(); ++i)
    if (ctx.has_output(i)) copy_strided(ctx, ctx.input(0), i, walks[static_cast<size_t>(i)]);
}

// The sizes are an input. Without it they are equal; since version 18 the last piece takes the rest.
class Split {
 public:
  static constexpr int shape_inputs[] = {1};
  using State = SplitState;
  explicit Split(const NodeView& node) : axis_(node.attr_i("axis", 0)), uneven_(node.since_version() >= 18) {}

  State prepare(PrepareContext& p) const {
    const Dims sizes = p.has_input(1) ? p.input(1).to_dims() : Dims();
    if (p.has_input(1)) require_sizes(p, sizes);
    return prepare_split(p, axis_, [&](int i, int64_t dim) {
      if (p.has_input(1)) return sizes[static_cast<size_t>(i)];
      const int64_t pieces = p.output_count(), size = dim / pieces + (uneven_ && dim % pieces != 0);
      return std::clamp<int64_t>(dim - i * size, 0, size);
    });
  }
  void run(const Context& ctx, const State& walks) const { split(ctx, walks); }

 private:
  int64_t axis_;
  bool uneven_;
};

// Split-1 to Split-11: the sizes are an attribute.
class SplitAttribute {
 public:
  using State = SplitState;
  explicit SplitAttribute(const NodeView& node)
      : axis_(node.attr_i("axis", 0)), sizes_(node.attr_ints("split")) {}

  State prepare(PrepareContext& p) const {
    if (!sizes_.empty()) require_sizes(p, sizes_);
    return prepare_split(p, axis_, [&](int i, int64_t dim) {
      return sizes_.empty() ? dim / p.output_count() : sizes_[static_cast<size_t>(i)];
    });
  }
  void run(const Context& ctx, const State& walks) const { split(ctx, walks); }

 private:
  int64_t axis_;
  Dims sizes_;
};

TENON_KERNEL(SplitAttribute, .op_type = "Split", .since = 1, .until = 12, .contract = "input: rank 1..")
TENON_KERNEL(Split, .op_type = "Split", .since = 13, .contract = "input: rank 1..; split?: [?] @size")

}  // namespace
}  // namespace tenon::cpu
