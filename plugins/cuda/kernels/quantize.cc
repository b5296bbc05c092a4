// QuantizeLinear and DequantizeLinear, per tensor, axis or block: floats, and integers of 8 and 16 bits; int32 to floats.
#include "kernels/common/kernel.h"
#include "tenon/ep/device/axes.hpp"

namespace tenon::cuda {
namespace {

// The scale of element (o, a, j) of [outer, axis, inner] is number o * per_outer + a / block * per_block + j * per_inner.
constexpr Source kSource{"quantize", R"CU(
struct Scales {
  int n, inner, axis, block;
  int per_outer, per_block, per_inner;
};
__device__ inline int scale_of(int i, const Scales& s) {
  const int line = i / s.inner, o = line / s.axis, a = line - o * s.axis;
  return o * s.per_outer + a / s.block * s.per_block + (i - line * s.inner) * s.per_inner;
}
#if MAKES
KERNEL QuantizeLinear(IN(T, x), IN(S, scale), IN(R, zero), OUT(R, y), Scales s, float low, float high) {
  EACH(i, s.n) {
    const int at = scale_of((int)i, s);
    const float v = rintf((float)x[i] / (float)scale[at]) + (zero != nullptr ? (float)zero[at] : 0.0f);
    y[i] = (R)(int)(v >= high ? high : v > low ? v : low);  // NaN becomes the lowest number
  }
}
#else
KERNEL DequantizeLinear(IN(T, x), IN(S, scale), IN(T, zero), OUT(R, y), Scales s) {
  EACH(i, s.n) {
    const int at = scale_of((int)i, s);
    const int64 difference = (int64)x[i] - (zero != nullptr ? (int64)zero[at] : 0);
#if IS_WIDE
    y[i] = (float)((double)difference * (double)(float)scale[at]);
#else
    y[i] = (float)difference * (float)scale[at];
#endif
  }
}
#endif
)CU"};

constexpr TypeList<float, Float16, BFloat16> kReal;
constexpr TypeList<int8_t, uint8_t, int16_t, uint16_t> kQuantized;

struct Scales {
  int32_t n = 0, inner = 1, axis = 1, block = 1;
  int32_t per_outer = 0, per_block = 0, per_inner = 0;
};

class Quantize {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.attr_is("saturate", {1})
        .attr_is("precision", {0, TENON_FLOAT32})
        .input(1, kReal)
        .that(n.attr_i("block_size", 0) >= 0, TENON_REJECT_ATTRIBUTE, "block_size is negative");
    if (makes(n)) return check.input(0, kReal + TypeList<int32_t>()).output(0, kQuantized);
    return check.input(0, kQuantized + TypeList<int32_t>()).output(0, kReal);
  }
  explicit Quantize(const NodeView& n)
      : axis_(n.attr_i("axis", 1)), block_(n.attr_i("block_size", 0)), makes_(makes(n)) {
    const uint32_t from = n.input(0).dtype(), to = n.output(0).dtype();
    kernel_ =
        load_kernel(n, kSource,
                    defines_of({computes_in(from), computes_in(n.input(1).dtype(), "S"), computes_in(to, "R"),
                                number("MAKES", makes_), number("IS_WIDE", from == TENON_INT32)}),
                    std::string(n.op()));
    if (!makes_) return;
    dispatch(kQuantized, to, [&]<class Q>() {
      low_ = static_cast<float>(std::numeric_limits<Q>::lowest());
      high_ = static_cast<float>(std::numeric_limits<Q>::max());
    });
  }

  Scales prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), scale = p.input(1).dims();
    p.set_output(0, x);
    Scales out{narrow(element_count(x))};
    require(!p.has_input(2) || p.input(2).size() == element_count(scale), TENON_INVALID_ARGUMENT,
            "zero points ", p.input(2).dims(), " for scales ", scale);
    if (block_ == 0 && element_count(scale) == 1) return out;
    const size_t axis = checked_axis(axis_, x.size());
    out.axis = std::max(1, narrow(x[axis]));
    out.inner = std::max(1, narrow(element_count(x.subspan(axis + 1))));
    const auto fails = [&] {
      fail(TENON_INVALID_ARGUMENT, "scales ", scale, " do not fit axis ", axis_, " of ", x);
    };
    if (block_ == 0) {
      if (scale.size() != 1 || scale[0] != x[axis]) fails();
      out.per_block = 1;
      return out;
    }
    Dims wanted(x.begin(), x.end());
    wanted[axis] = (x[axis] - 1) / block_ + 1;
    if (x[axis] == 0) wanted[axis] = 0;
    if (!std::equal(wanted.begin(), wanted.end(), scale.begin(), scale.end())) fails();
    out.block = narrow(std::min(block_, std::max<int64_t>(1, x[axis])));
    out.per_inner = 1;
    out.per_block = out.inner;
    out.per_outer = narrow(wanted[axis] * out.inner);
    return out;
  }

  void record(Recorder& ctx, const Scales& scales) const {
    const Size3 items = items_of(scales.n);
    if (makes_) {
      launch(ctx, kernel_, items, in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)), out(ctx.output(0)),
             scales, low_, high_);
    } else {
      launch(ctx, kernel_, items, in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)), out(ctx.output(0)),
             scales);
    }
  }

 private:
  static bool makes(const NodeView& n) { return n.op() == "QuantizeLinear"; }

  int64_t axis_, block_;
  bool makes_;
  float low_ = 0, high_ = 0;
  KernelRef kernel_;
};

TENON_KERNEL(Quantize, .op_type = "QuantizeLinear", .since = 10,
             .contract = "x: any; y_scale: one | rank 1 | rank x; y_zero_point?: count y_scale")
TENON_KERNEL(Quantize, .op_type = "DequantizeLinear", .since = 10,
             .contract = "x: any; x_scale: one | rank 1 | rank x; x_zero_point?: count x_scale")

}  // namespace
}  // namespace tenon::cuda
