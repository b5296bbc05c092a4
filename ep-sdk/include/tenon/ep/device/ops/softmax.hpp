// Softmax, LogSoftmax and Hardmax along one axis; before version 13, along all axes from `axis` on.
//
// Kernels Softmax, LogSoftmax and Hardmax: (x, y, outer, count, inner), a work-item for each line.
#ifndef TENON_EP_DEVICE_OPS_SOFTMAX_HPP_
#define TENON_EP_DEVICE_OPS_SOFTMAX_HPP_

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/ops/copy.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

struct SoftmaxLines {
  int32_t outer, count, inner;
};

template <class B>
class Softmax {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kDeviceRealTypes); }
  explicit Softmax(const NodeView& n)
      : is_flat_(n.since_version() < 13),
        axis_(n.attr_i("axis", is_flat_ ? 1 : -1)),
        kernel_(B::load(n, n.op(), {computes_in(n.input(0).dtype())})) {}
  SoftmaxLines prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    p.set_output(0, x);
    const bool beyond = is_flat_ && axis_ == static_cast<int64_t>(x.size());
    const size_t axis = beyond ? x.size() : checked_axis(axis_, x.size());
    const int64_t outer = element_count(x.first(axis)), rest = element_count(x.subspan(axis));
    if (is_flat_ || x.empty()) return {narrow(outer), narrow(rest), 1};
    return {narrow(outer), narrow(x[axis]), narrow(element_count(x.subspan(axis + 1)))};
  }
  void record(typename B::Recorder& ctx, const SoftmaxLines& lines) const {
    if (lines.count == 0) return;
    launch(ctx, kernel_, {static_cast<size_t>(lines.inner), static_cast<size_t>(lines.outer), 1},
           in(ctx.input(0)), out(ctx.output(0)), lines.outer, lines.count, lines.inner);
  }

 private:
  bool is_flat_;
  int64_t axis_;
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_SOFTMAX_HPP_
