#include "kernels/common/conv_integer.h"

namespace tenon::cpu {
namespace {

// Inputs: x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B (int32, in units of
// x_scale * w_scale).
class QLinearConv {
 public:
  explicit QLinearConv(const NodeView& n)
      : window_(n), groups_(n.attr_i("group", 1)), weights_(n, 3, groups_) {}
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kByteTypes)
        .input(3, kByteTypes)
        .input(8, TypeList<int32_t>())
        .output(0, kByteTypes);
  }
  using State = ConvIntegerState;
  State prepare(PrepareContext& p) const { return prepare_conv_integer(p, window_, groups_, 3); }

  void run(const Context& ctx, const State& s) const {
    const OutputTensor out = ctx.output(0);
    if (out.size() == 0) return;
    const float x_scale = as_floats(ctx, ctx.input(1))[0], y_scale = as_floats(ctx, ctx.input(6))[0];
    const std::span<const float> w_scale = as_floats(ctx, ctx.input(4));
    const Rounding to = rounding_of(out.dtype(), as_floats(ctx, ctx.input(7))[0]);
    const std::span<float> scales = scratch_list<float>(ctx, s.groups * s.outs);
    for (size_t i = 0; i < scales.size(); ++i)
      scales[i] = x_scale * w_scale[w_scale.size() == 1 ? 0 : i] / y_scale;
    const int32_t* bias = ctx.has_input(8) ? ctx.input(8).data<int32_t>() : nullptr;
    const ConvInteger conv(ctx, s, ctx.input(0), byte_at(ctx.input(2), 0), ctx.input(3), ctx.input(5), bias,
                           weights_);
    auto* const y = static_cast<uint8_t*>(out.bytes());
    conv.run([&](const ConvIntegerTile& tile) {
      const auto& isa = isa_integer();
      uint8_t bytes[ConvInteger::kRows * isa::kTileColumns];
      isa.requantize_f32(tile.sums, isa::kTileColumns, tile.positions, tile.constants, tile.channels,
                         scales.data() + tile.channel, to, bytes, isa::kTileColumns);
      isa.transpose(bytes, isa::kTileColumns, tile.positions, tile.channels, 0,
                    y + (tile.image * s.groups * s.outs + tile.channel) * s.out_plane + tile.position,
                    s.out_plane);
    });
  }

 private:
  WindowAttributes window_;
  int64_t groups_;
  ConvIntegerWeights weights_;
};

TENON_KERNEL(QLinearConv, .op_type = "QLinearConv", .since = 10,
             .contract =
                 "x: [N, C, D...] & rank 3..; x_scale: one; x_zero_point: one; w: [M, C/$group, K...] & rank "
                 "x; w_scale: one | [M]; w_zero_point: one | [M]; y_scale: one; y_zero_point: one; B?: [M]")

}  // namespace
}  // namespace tenon::cpu
