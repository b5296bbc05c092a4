#include "kernels/common/convert.h"
#include "kernels/common/quantize.h"

namespace tenon::cpu {
namespace {

constexpr auto kInputTypes = kFloatTypes + TypeList<int32_t>();

// y = saturate(round(x / scale) + zero point). float8 and float4 have no zero point.
class QuantizeLinear {
 public:
  explicit QuantizeLinear(const NodeView& n)
      : axis_(n.attr_i("axis", 1)),
        block_(n.attr_i("block_size", 0)),
        saturate_(n.attr_i("saturate", 1) != 0) {}
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kInputTypes).output(0, kQuantizedTypes);
  }

  using State = ScaleMap;
  State prepare(PrepareContext& p) const {
    p.set_output(0, p.input(0).dims());
    return ScaleMap(p.input(0).dims(), p.input(1).dims(), axis_, block_);
  }
  void run(const Context& ctx, const State& map) const {
    const TensorView x = ctx.input(0);
    const OutputTensor y = ctx.output(0);
    if (x.size() == 0) return;
    const Parameters q{as_floats(ctx, ctx.input(1)), as_floats(ctx, ctx.input(2), ctx.input(1).size())};
    const float* in = x.dtype() == TENON_FLOAT16    ? as_float<Float16>(ctx, x)
                      : x.dtype() == TENON_BFLOAT16 ? as_float<BFloat16>(ctx, x)
                                                    : as_floats(ctx, x).data();
    const auto& isa = isa_integer();
    const Rounding to = rounding_of(y.dtype(), 0);
    switch (y.dtype()) {
      case TENON_INT8:
      case TENON_UINT8:
        return lines(ctx, map, q, in, to, y.data<uint8_t>(), isa.quantize_8, isa.quantize_each_8);
      case TENON_INT16:
      case TENON_UINT16:
        return lines(ctx, map, q, in, to, y.data<uint16_t>(), isa.quantize_16, isa.quantize_each_16);
      default:
        break;
    }
    void* out = y.bytes();
    dispatch(kQuantizedTypes, y.dtype(), [&]<class T>() {
      map.for_lines(ctx, dtype_bits(y.dtype()) < 8, [&](const ScaleLine& line) {
        for (int64_t i = 0; i < line.n; ++i) {
          const auto at = static_cast<size_t>(line.scale + (line.each ? i : 0));
          store_element<T>(out, line.at + i,
                           quantize<T>(in[line.at + i] / q.scales[at], q.zeros[at], saturate_));
        }
      });
    });
  }

 private:
  struct Parameters {
    std::span<const float> scales, zeros;
  };
  template <class T, class Line, class Each>
  static void lines(const Context& ctx, const ScaleMap& map, const Parameters& q, const float* in,
                    const Rounding& to, T* out, Line one, Each each) {
    map.for_lines(ctx, false, [&](const ScaleLine& line) {
      const float *scale = q.scales.data() + line.scale, *zero = q.zeros.data() + line.scale;
      if (line.each) {
        each(in + line.at, line.n, scale, zero, to, out + line.at);
      } else {
        one(in + line.at, line.n, *scale, Rounding{*zero, to.low, to.high}, out + line.at);
      }
    });
  }

  int64_t axis_, block_;
  bool saturate_;
};

TENON_KERNEL(QuantizeLinear, .op_type = "QuantizeLinear", .since = 10,
             .contract = "x: any; y_scale: any; y_zero_point?: count y_scale")

}  // namespace
}  // namespace tenon::cpu
