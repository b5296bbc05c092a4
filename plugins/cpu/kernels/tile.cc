#include "kernels/common/scratch.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

// Each axis becomes two dims: the repeats with stride 0, then the elements.
StridedWalk prepare_tile(PrepareContext& p, const Dims& repeats) {
  const DimsView in = p.input(0).dims();
  require(repeats.size() == in.size(), TENON_INVALID_ARGUMENT, repeats.size(), " repeats for rank ",
          in.size());
  const Dims in_strides = strides_of(in);
  Dims out, dims, strides;
  for (size_t i = 0; i < repeats.size(); ++i) {
    require(repeats[i] >= 0, TENON_INVALID_ARGUMENT, "repeats of axis ", i, " are ", repeats[i]);
    int64_t size = 0;
    require(!__builtin_mul_overflow(repeats[i], in[i], &size), TENON_RESOURCE_EXHAUSTED, repeats[i],
            " times ", in[i], " elements along axis ", i);
    out.push_back(size);
    dims.insert(dims.end(), {repeats[i], in[i]});
    strides.insert(strides.end(), {0, in_strides[i]});
  }
  p.set_output(0, out);
  return StridedWalk(dims, strides);
}

struct Tile {
  static constexpr int shape_inputs[] = {1};
  using State = StridedWalk;
  State prepare(PrepareContext& p) const { return prepare_tile(p, p.input(1).to_dims()); }
  void run(const Context& ctx, const State& walk) const { copy_strided(ctx, ctx.input(0), 0, walk); }
};

// Tile-1 repeats `tiles` times along `axis`. Both are scalars of the input's type.
struct TileAxis {
  static constexpr int shape_inputs[] = {1, 2};
  using State = StridedWalk;
  State prepare(PrepareContext& p) const {
    Dims repeats(p.input(0).dims().size(), 1);
    repeats[static_cast<size_t>(normalize_axis(whole_number(p.input(2), "axis"), p.input(0).rank()))] =
        whole_number(p.input(1), "tiles");
    return prepare_tile(p, repeats);
  }
  void run(const Context& ctx, const State& walk) const { copy_strided(ctx, ctx.input(0), 0, walk); }
};

TENON_KERNEL(TileAxis, .op_type = "Tile", .since = 1, .until = 5,
             .contract = "input: rank 1..; tiles: one @size; axis: one")
TENON_KERNEL(Tile, .op_type = "Tile", .since = 6, .contract = "input: any; repeats: [?] @size")

}  // namespace
}  // namespace tenon::cpu
