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
    const std::span<const float> scales = as_floats(ctx, ctx.input(1)),
                                 zeros = as_floats(ctx, ctx.input(2), ctx.input(1).size());
    dispatch(kQuantizedTypes, x.dtype(), [&]<class Q>() {
      dispatch(kFloatTypes, y.dtype(), [&]<class T>() {
        // Differences of int32 do not fit into float.
        using D = std::conditional_t<std::is_same_v<Q, int32_t>, double, float>;
        const void* in = x.bytes();
        T* out = y.data<T>();
        int64_t at = 0;
        for (int64_t o = 0; o < map.outer(); ++o)
          for (int64_t a = 0; a < map.axis(); ++a) {
            map.for_line(scales, zeros, o, a, [&](int64_t i, float scale, float zero) {
              const D difference =
                  static_cast<D>(static_cast<Compute<Q>>(load_element<Q>(in, at + i))) - static_cast<D>(zero);
              out[at + i] = static_cast<T>(static_cast<Compute<T>>(difference * static_cast<D>(scale)));
            });
            at += map.inner();
          }
      });
    });
  }

 private:
  int64_t axis_, block_;
};

TENON_KERNEL(DequantizeLinear, .op_type = "DequantizeLinear", .since = 10,
             .contract = "x: any; x_scale: one | rank 1 | rank x; x_zero_point?: count x_scale")

}  // namespace
}  // namespace tenon::cpu
