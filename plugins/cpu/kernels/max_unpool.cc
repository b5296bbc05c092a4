#include "kernels/common/scratch.h"
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
  /// Strides of the shape that was pooled, in which the indices count, and of the output, which may be larger.
  struct State {
    Dims pooled, out;
  };
  State prepare(PrepareContext& p) const {
    const Dims pooled = default_shape(p.input(0).dims());
    const Dims out = p.has_input(2) ? p.input(2).to_dims() : pooled;
    require(out.size() == pooled.size(), TENON_INVALID_ARGUMENT, "output_shape ", DimsView(out),
            " for input ", p.input(0).dims());
    p.set_output(0, out);
    return {strides_of(pooled), strides_of(out)};
  }

  void run(const Context& ctx, const State& strides) const {
    const TensorView in = ctx.input(0);
    const OutputTensor out = ctx.output(0);
    const DimsView indices = int_list(ctx, ctx.input(1));
    dispatch(kFloatTypes, in.dtype(), [&]<class T>() {
      std::fill_n(out.data<T>(), out.size(), T());
      for (int64_t i = 0; i < in.size(); ++i) {
        int64_t rest = indices[static_cast<size_t>(i)], to = 0;
        for (size_t d = 0; d < strides.pooled.size(); ++d) {
          to += rest / strides.pooled[d] * strides.out[d];
          rest %= strides.pooled[d];
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
