#include "kernels/common/window.h"

namespace tenon::cpu {
namespace {

// Puts each element where `I` says, in an output of zeros whose shape is input 2 or follows from the
// attributes.
class MaxUnpool {
 public:
  static constexpr int shape_inputs[] = {2};
  explicit MaxUnpool(const NodeView& n)
      : kernel_(n.attr_ints("kernel_shape")), strides_(n.attr_ints("strides")), pads_(n.attr_ints("pads")) {}
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloatTypes).rank(0, 3); }

  Dims default_shape(DimsView in) const {
    Dims out(in.begin(), in.end());
    for (size_t d = 0; d + 2 < in.size(); ++d) {
      const int64_t stride = strides_.empty() ? 1 : strides_[d];
      out[d + 2] =
          (in[d + 2] - 1) * stride + kernel_[d] - (pads_.empty() ? 0 : pads_[d] + pads_[d + in.size() - 2]);
    }
    return out;
  }
  void prepare(PrepareContext& p) const {
    p.set_output(0, p.has_input(2) ? p.input(2).to_dims() : default_shape(p.input(0).dims()));
  }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const OutputTensor out = ctx.output(0);
    const Dims indices = ctx.input(1).to_dims();
    // The indices count in the shape that was pooled, which the attributes give; the output may be larger.
    const Dims pooled = default_shape(in.dims());
    const Dims pooled_strides = strides_of(pooled), strides = strides_of(out.dims());
    dispatch(kFloatTypes, in.dtype(), [&]<class T>() {
      std::fill_n(out.data<T>(), out.size(), T());
      for (int64_t i = 0; i < in.size(); ++i) {
        int64_t rest = indices[static_cast<size_t>(i)], to = 0;
        for (size_t d = 0; d < pooled.size(); ++d) {
          to += rest / pooled_strides[d] * strides[d];
          rest %= pooled_strides[d];
        }
        require(to >= 0 && to < out.size(), TENON_OUT_OF_RANGE, "index ", indices[static_cast<size_t>(i)],
                " is outside of the output");
        out.data<T>()[to] = in.data<T>()[i];
      }
    });
  }

 private:
  Dims kernel_, strides_, pads_;
};

TENON_KERNEL(MaxUnpool, .op_type = "MaxUnpool", .since = 9)

}  // namespace
}  // namespace tenon::cpu
