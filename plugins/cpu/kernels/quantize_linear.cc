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
    const std::span<const float> scales = as_floats(ctx, ctx.input(1)),
                                 zeros = as_floats(ctx, ctx.input(2), ctx.input(1).size());
    if (x.size() == 0) return;
    CancelPoint point(ctx);
    const float* in = as_floats(ctx, x).data();
    void* out = y.bytes();
    dispatch(kQuantizedTypes, y.dtype(), [&]<class T>() {
      int64_t at = 0;
      for (int64_t o = 0; o < map.outer(); ++o)
        for (int64_t a = 0; a < map.axis(); ++a) {
          point.pass(map.inner());
          map.for_line(scales, zeros, o, a, [&](int64_t i, float scale, float zero) {
            store_element<T>(out, at + i, quantize<T>(in[at + i] / scale, zero, saturate_));
          });
          at += map.inner();
        }
    });
  }

 private:
  int64_t axis_, block_;
  bool saturate_;
};

TENON_KERNEL(QuantizeLinear, .op_type = "QuantizeLinear", .since = 10,
             .contract = "x: any; y_scale: any; y_zero_point?: count y_scale")

}  // namespace
}  // namespace tenon::cpu
