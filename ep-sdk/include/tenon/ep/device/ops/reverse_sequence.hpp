// ReverseSequence. Kernel ReverseSequence(x, lengths, y, flag, first, second, inner, time_first), a work-item for each output
// element. A length beyond the axis is reported as an index out of range.
#ifndef TENON_EP_DEVICE_OPS_REVERSE_SEQUENCE_HPP_
#define TENON_EP_DEVICE_OPS_REVERSE_SEQUENCE_HPP_

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/ops/copy.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

struct ReverseAxes {
  int32_t first, second, inner;
};

template <class B>
class ReverseSequence {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kDeviceTypes)
        .input(1, TypeList<int64_t>())
        .attr_is("batch_axis", {0, 1})
        .attr_is("time_axis", {0, 1});
  }
  explicit ReverseSequence(const NodeView& n)
      : time_first_(n.attr_i("time_axis", 0) == 0 ? 1 : 0),
        is_constant_(n.input(1).is_constant()),
        kernel_(B::load(n, "ReverseSequence", {moves(n.input(0).dtype())})) {
    require(n.attr_i("batch_axis", 1) == time_first_, TENON_INVALID_ARGUMENT,
            "batch_axis and time_axis are the same");
  }
  ReverseAxes prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const int64_t time = x[time_first_ != 0 ? 0 : 1];
    for (const int64_t length : is_constant_ ? p.input(1).to_dims() : Dims())
      require(length >= 0 && length <= time, TENON_OUT_OF_RANGE, "sequence length ", length,
              " is out of range for an axis of ", time);
    p.set_output(0, x);
    return {narrow(x[0]), narrow(x[1]), narrow(element_count(x.subspan(2)))};
  }
  void record(typename B::Recorder& ctx, const ReverseAxes& axes) const {
    launch(ctx, kernel_,
           {static_cast<size_t>(axes.inner),
            static_cast<size_t>(axes.first) * static_cast<size_t>(axes.second), 1},
           in(ctx.input(0)), in(ctx.input(1)), out(ctx.output(0)), FlagArg{}, axes.first, axes.second,
           axes.inner, time_first_);
  }

 private:
  int32_t time_first_;
  bool is_constant_;
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_REVERSE_SEQUENCE_HPP_
