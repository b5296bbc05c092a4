#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

struct Expand {
  static constexpr int shape_inputs[] = {1};
  using State = StridedWalk;

  State prepare(PrepareContext& p) const {
    const DimsView in = p.input(0).dims();
    const Dims dims = broadcast_dims(in, p.input(1).to_dims());
    const Dims in_strides = strides_of(in);
    Dims strides(dims.size(), 0);
    const size_t lead = dims.size() - in.size();
    for (size_t i = 0; i < in.size(); ++i)
      if (in[i] != 1) strides[lead + i] = in_strides[i];
    p.set_output(0, dims);
    return State(dims, strides);
  }
  void run(const Context& ctx, const State& walk) const { copy_strided(ctx, ctx.input(0), 0, walk); }
};

TENON_KERNEL(Expand, .op_type = "Expand", .since = 8, .contract = "input: any; shape: rank 1 @size")

}  // namespace
}  // namespace tenon::cpu
