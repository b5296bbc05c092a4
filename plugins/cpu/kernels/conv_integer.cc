#include "kernels/common/conv_integer.h"

namespace tenon::cpu {
namespace {

class ConvIntegerKernel {
 public:
  explicit ConvIntegerKernel(const NodeView& n)
      : window_(n), groups_(n.attr_i("group", 1)), weights_(n, 1, groups_) {}
  static Support supports(const NodeView& n) { return Check(n).input(0, kByteTypes).input(1, kByteTypes); }
  using State = ConvIntegerState;
  State prepare(PrepareContext& p) const { return prepare_conv_integer(p, window_, groups_, 1); }
  void run(const Context& ctx, const State& s) const {
    const OutputTensor out = ctx.output(0);
    if (out.size() == 0) return;
    auto* y = out.data<int32_t>();
    const int32_t x_zero = ctx.has_input(2) ? byte_at(ctx.input(2), 0) : 0;
    const ConvInteger conv(ctx, s, ctx.input(0), x_zero, ctx.input(1), ctx.input(3), nullptr, weights_);
    conv.run([&](const ConvIntegerTile& tile) {
      for (int64_t j = 0; j < tile.channels; ++j) {
        int32_t* const to =
            y + (tile.image * s.groups * s.outs + tile.channel + j) * s.out_plane + tile.position;
        for (int64_t i = 0; i < tile.positions; ++i)
          to[i] = wrapping_add(tile.sums[i * isa::kTileColumns + j], tile.constants[j]);
      }
    });
  }

 private:
  WindowAttributes window_;
  int64_t groups_;
  ConvIntegerWeights weights_;
};

TENON_KERNEL(ConvIntegerKernel, .op_type = "ConvInteger", .since = 10,
             .contract =
                 "x: [N, C, D...] & rank 3..; w: [M, C/$group, K...] & rank x; x_zero_point?: one; "
                 "w_zero_point?: one | [M]")

}  // namespace
}  // namespace tenon::cpu
