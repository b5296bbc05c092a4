// QuantizeLinear and DequantizeLinear, per tensor or axis: float32 and 8-bit integers, int32 to float32.
//
// Kernels of the operators' names: (x, scale, zero, y, n, inner, channels, has_zero, low, high), a work-item for each element.
#ifndef TENON_EP_DEVICE_OPS_QUANTIZE_HPP_
#define TENON_EP_DEVICE_OPS_QUANTIZE_HPP_

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/ops/copy.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

inline constexpr TypeList<float> kQuantizedFloat;
inline constexpr TypeList<int8_t, uint8_t> kQuantizedBytes;

struct QuantizeChannels {
  int32_t n, inner, count;
};

template <class B>
class Quantize {
 public:
  static Support supports(const NodeView& n) {
    const bool makes = n.op() == "QuantizeLinear";
    Check check(n);
    check.attr_is("block_size", {0})
        .attr_is("saturate", {1})
        .attr_is("output_dtype", {0, TENON_INT8, TENON_UINT8, TENON_FLOAT32})
        .attr_is("precision", {0, TENON_FLOAT32});
    if (makes) return check.input(0, kQuantizedFloat).input(1, kQuantizedFloat).output(0, kQuantizedBytes);
    return check.input(0, kQuantizedBytes + TypeList<int32_t>())
        .input(1, kQuantizedFloat)
        .output(0, kQuantizedFloat);
  }
  explicit Quantize(const NodeView& n) : axis_(n.attr_i("axis", 1)) {
    const uint32_t to = n.output(0).dtype();
    low_ = to == TENON_INT8 ? -128.0f : 0.0f;
    high_ = to == TENON_INT8 ? 127.0f : 255.0f;
    kernel_ = B::load(n, n.op(), {computes_in(n.input(0).dtype()), computes_in(to, "R")});
  }
  QuantizeChannels prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const int64_t count = p.input(1).size();
    p.set_output(0, x);
    QuantizeChannels out{narrow(element_count(x)), 1, 1};
    if (p.input(1).rank() == 0 || count == 1) return out;
    const size_t axis = checked_axis(axis_, x.size());
    require(p.input(1).rank() == 1 && count == x[axis] && (!p.has_input(2) || p.input(2).size() == count),
            TENON_INVALID_ARGUMENT, "scales ", p.input(1).dims(), " do not fit axis ", axis_, " of ", x);
    out.inner = narrow(std::max<int64_t>(1, element_count(x.subspan(axis + 1))));
    out.count = narrow(count);
    return out;
  }
  void record(typename B::Recorder& ctx, const QuantizeChannels& c) const {
    launch(ctx, kernel_, {static_cast<size_t>(c.n), 1, 1}, in(ctx.input(0)), in(ctx.input(1)),
           in(ctx.input(2)), out(ctx.output(0)), c.n, c.inner, c.count, int32_t{ctx.has_input(2)},
           float{low_}, float{high_});
  }

 private:
  int64_t axis_;
  float low_, high_;
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_QUANTIZE_HPP_
