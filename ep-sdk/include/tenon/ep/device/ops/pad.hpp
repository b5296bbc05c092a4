// Pad. Kernel Pad(x, value, y, walk, n, mode, has_value), a work-item for each output element. Per axis of the walk, size is
// the size of y, stride[0] the stride of x, stride[1] the padding before and stride[2] the size of x.
#ifndef TENON_EP_DEVICE_OPS_PAD_HPP_
#define TENON_EP_DEVICE_OPS_PAD_HPP_

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/ops/copy.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

inline constexpr std::string_view kPadModes[] = {"constant", "edge", "reflect", "wrap"};

template <class B>
class Pad {
 public:
  static constexpr int shape_inputs[] = {1, 3};
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kDeviceTypes).attr_is("mode", {"constant", "edge", "reflect", "wrap"});
  }
  explicit Pad(const NodeView& n) : kernel_(B::load(n, "Pad", {moves(n.input(0).dtype())})) {
    const std::string mode = n.attr_s("mode", "constant");
    mode_ = static_cast<int32_t>(std::find(std::begin(kPadModes), std::end(kPadModes), mode) -
                                 std::begin(kPadModes));
  }
  Walk prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const Dims pads = p.input(1).to_dims();
    std::vector<int64_t> axes = axes_of(p, 3, {});
    for (size_t d = 0; d < x.size() && !p.has_input(3); ++d) axes.push_back(static_cast<int64_t>(d));
    require(pads.size() == 2 * axes.size() && x.size() <= kMaxWalkRank, TENON_INVALID_ARGUMENT, "pads has ",
            pads.size(), " numbers for ", axes.size(),
            " axes; two per axis are needed, and a rank of at most ", kMaxWalkRank);
    Dims dims(x.begin(), x.end()), before(x.size(), 0);
    for (size_t i = 0; i < axes.size(); ++i) {
      const size_t axis = checked_axis(axes[i], x.size());
      before[axis] = pads[i];
      dims[axis] += int64_t{narrow(pads[i])} + narrow(pads[i + axes.size()]);
      require(dims[axis] >= 0, TENON_INVALID_ARGUMENT,
              "negative pads remove more elements than the axis has");
    }
    p.set_output(0, dims);
    require(mode_ == 0 || element_count(x) != 0 || element_count(dims) == 0, TENON_INVALID_ARGUMENT,
            "an input without elements cannot be padded in this mode");
    Walk out{};
    out.rank = static_cast<int32_t>(x.size());
    const Dims strides = dense_strides(x);
    for (size_t d = 0; d < x.size(); ++d) {
      out.size[d] = narrow(dims[d]);
      out.stride[0][d] = narrow(strides[d]);
      out.stride[1][d] = narrow(before[d]);
      out.stride[2][d] = narrow(x[d]);
    }
    out.inner = narrow(element_count(dims));
    return out;
  }
  void record(typename B::Recorder& ctx, const Walk& walk) const {
    launch(ctx, kernel_, {static_cast<size_t>(walk.inner), 1, 1}, in(ctx.input(0)), in(ctx.input(2)),
           out(ctx.output(0)), walk, walk.inner, mode_, int32_t{ctx.has_input(2)});
  }

 private:
  int32_t mode_ = 0;
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_PAD_HPP_
