// CumSum and CumProd. Kernel of the operator's name: (x, y, outer, count, inner, exclusive, reverse), a work-item for each line.
#ifndef TENON_EP_DEVICE_OPS_CUM_SUM_HPP_
#define TENON_EP_DEVICE_OPS_CUM_SUM_HPP_

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/ops/copy.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

struct CumSumLines {
  int32_t outer, count, inner;
};

template <class B>
class CumSum {
 public:
  static constexpr int shape_inputs[] = {1};
  static Support supports(const NodeView& n) { return Check(n).input(0, kDeviceRealTypes + kIntTypes); }
  explicit CumSum(const NodeView& n)
      : exclusive_(static_cast<int32_t>(n.attr_i("exclusive", 0))),
        reverse_(static_cast<int32_t>(n.attr_i("reverse", 0))),
        kernel_(B::load(n, n.op(), {computes_in(n.input(0).dtype())})) {}
  CumSumLines prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const Dims given = p.input(1).to_dims();
    require(given.size() == 1, TENON_INVALID_ARGUMENT, "axis is not a single number");
    const size_t axis = checked_axis(given[0], x.size());
    p.set_output(0, x);
    return {narrow(element_count(x.first(axis))), narrow(x[axis]),
            narrow(element_count(x.subspan(axis + 1)))};
  }
  void record(typename B::Recorder& ctx, const CumSumLines& lines) const {
    if (lines.count == 0) return;
    launch(ctx, kernel_, {static_cast<size_t>(lines.inner), static_cast<size_t>(lines.outer), 1},
           in(ctx.input(0)), out(ctx.output(0)), lines.outer, lines.count, lines.inner, exclusive_, reverse_);
  }

 protected:
  int32_t exclusive_, reverse_;

 private:
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_CUM_SUM_HPP_
