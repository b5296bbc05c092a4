#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

// The output shapes, which the host infers, say where to cut.
class Split {
 public:
  static constexpr int shape_inputs[] = {1};
  explicit Split(const NodeView& node) : axis_(node.attr_i("axis", 0)) {}

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const int64_t axis = normalize_axis(axis_, in.rank());
    const Dims strides = strides_of(in.dims());
    int64_t offset = 0;
    for (int i = 0; i < ctx.output_count(); ++i) {
      // An output that nobody wants still takes its piece.
      const int64_t length =
          ctx.has_output(i) ? ctx.output(i).dim(static_cast<int>(axis)) : piece(ctx, i, axis);
      if (ctx.has_output(i))
        copy_strided(ctx, in, i, ctx.output(i).dims(), strides, offset * strides[static_cast<size_t>(axis)]);
      offset += length;
    }
    require(offset <= in.dim(static_cast<int>(axis)), TENON_INVALID_ARGUMENT, "the pieces add up to ", offset,
            " of ", in.dim(static_cast<int>(axis)));
  }

 private:
  static int64_t piece(const Context& ctx, int output, int64_t axis) {
    if (ctx.has_input(1)) return ctx.input(1).to_dims()[static_cast<size_t>(output)];
    const int64_t dim = ctx.input(0).dim(static_cast<int>(axis)), pieces = ctx.output_count();
    const int64_t size = (dim + pieces - 1) / pieces;
    return std::min(size, dim - output * size);
  }
  int64_t axis_;
};

// Split-1 to -11: the sizes are an attribute.
class SplitAttribute {
 public:
  explicit SplitAttribute(const NodeView& node)
      : axis_(node.attr_i("axis", 0)), sizes_(node.attr_ints("split")) {}

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const int64_t axis = normalize_axis(axis_, in.rank());
    const Dims strides = strides_of(in.dims());
    int64_t offset = 0;
    for (int i = 0; i < ctx.output_count(); ++i) {
      const int64_t length = sizes_.empty() ? in.dim(static_cast<int>(axis)) / ctx.output_count()
                                            : sizes_.at(static_cast<size_t>(i));
      if (ctx.has_output(i))
        copy_strided(ctx, in, i, ctx.output(i).dims(), strides, offset * strides[static_cast<size_t>(axis)]);
      offset += length;
    }
  }

 private:
  int64_t axis_;
  Dims sizes_;
};

TENON_KERNEL(SplitAttribute, .op_type = "Split", .since = 1, .until = 12)
TENON_KERNEL(Split, .op_type = "Split", .since = 13)

}  // namespace
}  // namespace tenon::cpu
