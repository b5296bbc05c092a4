// Cast and CastLike. Kernel Cast(x, y, n), a work-item for each element. Rounds towards zero. Bool is true for numbers other than
// zero.
#ifndef TENON_EP_DEVICE_OPS_CAST_HPP_
#define TENON_EP_DEVICE_OPS_CAST_HPP_

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/ops/copy.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

template <class B>
class Cast {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kDeviceTypes).output(0, kDeviceTypes);
  }
  explicit Cast(const NodeView& n) {
    const uint32_t from = n.input(0).dtype(), to = n.output(0).dtype();
    // Through a 64-bit integer, numbers that are too large wrap as on the CPU, instead of being undefined.
    const bool wraps =
        kDeviceRealTypes.contains(from) && !kDeviceRealTypes.contains(to) && dtype_bits(to) < 64;
    kernel_ = B::load(n, "Cast",
                      {computes_in(from), computes_in(to, "R"), number("TO_BOOL", to == TENON_BOOL),
                       number("WRAPS", wraps)});
  }
  void prepare(PrepareContext& p) const { p.set_output(0, p.input(0).dims()); }
  void record(typename B::Recorder& ctx) const {
    const int64_t n = ctx.input(0).size();
    launch(ctx, kernel_, items_of(n), in(ctx.input(0)), out(ctx.output(0)), narrow(n));
  }

 private:
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_CAST_HPP_
