#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

// Each axis becomes two, the repeats with stride 0 before the elements.
void tile(const Context& ctx, const Dims& repeats) {
  const TensorView in = ctx.input(0);
  require(repeats.size() == in.dims().size(), TENON_INVALID_ARGUMENT, repeats.size(), " repeats for rank ",
          in.rank());
  const Dims in_strides = strides_of(in.dims());
  Dims dims, strides;
  for (size_t i = 0; i < repeats.size(); ++i) {
    require(repeats[i] >= 0, TENON_INVALID_ARGUMENT, "repeats of axis ", i, " are ", repeats[i]);
    dims.insert(dims.end(), {repeats[i], in.dims()[i]});
    strides.insert(strides.end(), {0, in_strides[i]});
  }
  copy_strided(ctx, in, 0, dims, strides, 0);
}

struct Tile {
  static constexpr int shape_inputs[] = {1};
  void run(const Context& ctx) const { tile(ctx, ctx.input(1).to_dims()); }
};

// Tile-1: `tiles` times along `axis`, both of them scalars of the input's type.
struct TileAxis {
  static constexpr int shape_inputs[] = {1, 2};
  static int64_t scalar(TensorView value) {
    int64_t out = 0;
    dispatch(kNumericTypes, value.dtype(), [&]<class T>() { out = static_cast<int64_t>(value.at<T>(0)); });
    return out;
  }
  static Dims repeats(const TensorView& in, TensorView tiles, TensorView axis) {
    Dims out(in.dims().size(), 1);
    out[static_cast<size_t>(normalize_axis(scalar(axis), in.rank()))] = scalar(tiles);
    return out;
  }
  void prepare(PrepareContext& ctx) const {
    Dims dims = repeats(ctx.input(0), ctx.input(1), ctx.input(2));
    for (size_t i = 0; i < dims.size(); ++i) dims[i] *= ctx.input(0).dims()[i];
    ctx.set_output(0, dims);
  }
  void run(const Context& ctx) const { tile(ctx, repeats(ctx.input(0), ctx.input(1), ctx.input(2))); }
};

TENON_KERNEL(TileAxis, .op_type = "Tile", .since = 1, .until = 5)
TENON_KERNEL(Tile, .op_type = "Tile", .since = 6)

}  // namespace
}  // namespace tenon::cpu
