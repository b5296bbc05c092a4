#include "kernels/common/quantize.h"

namespace tenon::cpu {
namespace {

// y = (x - zero point) * scale
class DequantizeLinear {
 public:
  explicit DequantizeLinear(const NodeView& n)
      : axis_(n.attr_i("axis", 1)), block_(n.attr_i("block_size", 0)) {}
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kQuantizedTypes).output(0, kFloatTypes);
  }

  using State = ScaleMap;
  State prepare(PrepareContext& p) const {
    p.set_output(0, p.input(0).dims());
    return ScaleMap(p.input(0).dims(), p.input(1).dims(), axis_, block_);
  }
  void run(const Context& ctx, const State& map) const {
    const TensorView x = ctx.input(0);
    const OutputTensor y = ctx.output(0);
    const Parameters q{as_floats(ctx, ctx.input(1)), as_floats(ctx, ctx.input(2), ctx.input(1).size())};
    if (y.dtype() == TENON_FLOAT32) {
      const auto& isa = isa_integer();
      float* out = y.data<float>();
      switch (x.dtype()) {
        case TENON_INT8:
          return lines(ctx, map, q, x.data<int8_t>(), out, isa.dequantize_s8);
        case TENON_UINT8:
          return lines(ctx, map, q, x.data<uint8_t>(), out, isa.dequantize_u8);
        case TENON_INT16:
          return lines(ctx, map, q, x.data<int16_t>(), out, isa.dequantize_s16);
        case TENON_UINT16:
          return lines(ctx, map, q, x.data<uint16_t>(), out, isa.dequantize_u16);
        default:
          break;
      }
    }
    dispatch(kQuantizedTypes, x.dtype(), [&]<class Q>() {
      dispatch(kFloatTypes, y.dtype(), [&]<class T>() {
        // Differences of int32 do not fit into float.
        using D = std::conditional_t<std::is_same_v<Q, int32_t>, double, float>;
        const void* in = x.bytes();
        T* out = y.data<T>();
        map.for_lines(ctx, false, [&](const ScaleLine& line) {
          for (int64_t i = 0; i < line.n; ++i) {
            const auto at = static_cast<size_t>(line.scale + (line.each ? i : 0));
            const D difference = static_cast<D>(static_cast<Compute<Q>>(load_element<Q>(in, line.at + i))) -
                                 static_cast<D>(q.zeros[at]);
            out[line.at + i] =
                static_cast<T>(static_cast<Compute<T>>(difference * static_cast<D>(q.scales[at])));
          }
        });
      });
    });
  }

 private:
  struct Parameters {
    std::span<const float> scales, zeros;
  };
  template <class T, class Line>
  static void lines(const Context& ctx, const ScaleMap& map, const Parameters& q, const T* in, float* out,
                    Line one) {
    map.for_lines(ctx, false, [&](const ScaleLine& line) {
      const float *scale = q.scales.data() + line.scale, *zero = q.zeros.data() + line.scale;
      if (!line.each) return one(in + line.at, line.n, *scale, *zero, out + line.at);
      for (int64_t i = 0; i < line.n; ++i)
        out[line.at + i] = (static_cast<float>(in[line.at + i]) - zero[i]) * scale[i];
    });
  }

  int64_t axis_, block_;
};

TENON_KERNEL(DequantizeLinear, .op_type = "DequantizeLinear", .since = 10,
             .contract = "x: any; x_scale: one | rank 1 | rank x; x_zero_point?: count x_scale")

}  // namespace
}  // namespace tenon::cpu
