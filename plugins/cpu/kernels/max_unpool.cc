#include "kernels/common/scratch.h"
#include "kernels/common/window.h"

namespace tenon::cpu {
namespace {

// Writes each element to index `I` of an output of zeros, whose shape is input 2 or follows from the
// attributes.
class MaxUnpool {
 public:
  static constexpr int shape_inputs[] = {2};
  explicit MaxUnpool(const NodeView& n)
      : kernel_(n.attr_ints("kernel_shape")), strides_(n.attr_ints("strides")), pads_(n.attr_ints("pads")) {
    const size_t spatial = kernel_.size();
    require(strides_.empty() || strides_.size() == spatial, TENON_INVALID_ARGUMENT, strides_.size(),
            " strides for a kernel of ", spatial, " dims");
    require(pads_.empty() || pads_.size() == 2 * spatial, TENON_INVALID_ARGUMENT, pads_.size(),
            " pads for a kernel of ", spatial, " dims");
  }
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloatTypes).rank(0, 3); }

  /// `pooled` is the shape that the indices refer to. `out` may be larger.
  struct State {
    Dims pooled, out;
  };
  State prepare(PrepareContext& p) const {
    State s{pooled_shape(p.input(0).dims()), {}};
    s.out = p.has_input(2) ? p.input(2).to_dims() : s.pooled;
    require(s.out.size() == s.pooled.size(), TENON_INVALID_ARGUMENT, "output_shape ", DimsView(s.out),
            " for input ", p.input(0).dims());
    p.set_output(0, s.out);
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    const TensorView in = ctx.input(0);
    const OutputTensor out = ctx.output(0);
    const DimsView indices = int_list(ctx, ctx.input(1));
    dispatch(kFloatTypes, in.dtype(), [&]<class T>() {
      std::fill_n(out.data<T>(), out.size(), T());
      CancelPoint point(ctx);
      for (int64_t i = 0; i < in.size(); ++i) {
        point.pass();
        out.data<T>()[place(s, indices[static_cast<size_t>(i)])] = in.data<T>()[i];
      }
    });
  }

 private:
  Dims pooled_shape(DimsView in) const {
    require(kernel_.size() + 2 == in.size(), TENON_INVALID_ARGUMENT, "a kernel of ", kernel_.size(),
            " dims for input ", in);
    Dims out(in.begin(), in.end());
    for (size_t d = 0; d < kernel_.size(); ++d) {
      const int64_t stride = strides_.empty() ? 1 : strides_[d], begin = pads_.empty() ? 0 : pads_[d],
                    end = pads_.empty() ? 0 : pads_[d + kernel_.size()];
      constexpr int64_t kMost = int64_t{1} << 31;
      require(stride > 0 && stride < kMost && kernel_[d] > 0 && kernel_[d] < kMost && begin >= 0 &&
                  begin < kMost && end >= 0 && end < kMost && in[d + 2] < kMost,
              TENON_INVALID_ARGUMENT, "axis ", d + 2, " of ", in[d + 2], " elements with kernel ", kernel_[d],
              ", stride ", stride, " and pads ", begin, ", ", end);
      out[d + 2] = in[d + 2] == 0 ? 0 : (in[d + 2] - 1) * stride + kernel_[d] - begin - end;
      require(out[d + 2] >= 0, TENON_INVALID_ARGUMENT, "the pads of axis ", d + 2,
              " are larger than the pooled input");
    }
    return out;
  }

  /// From an index in the pooled shape to one in the output.
  static int64_t place(const State& s, int64_t index) {
    int64_t rest = index, to = 0, stride = 1;
    for (size_t d = s.pooled.size(); d-- > 0;) {
      const int64_t size = s.pooled[d], at = size > 0 && rest >= 0 ? rest % size : -1;
      require(at >= 0 && at < s.out[d], TENON_OUT_OF_RANGE, "index ", index, " is outside the output");
      rest /= size;
      to += at * stride;
      stride *= s.out[d];
    }
    require(rest == 0, TENON_OUT_OF_RANGE, "index ", index, " is outside the output");
    return to;
  }

  Dims kernel_, strides_, pads_;
};

TENON_KERNEL(MaxUnpool, .op_type = "MaxUnpool", .since = 9,
             .contract = "X: rank 3..; I: = X @index; output_shape?: [?] @size")

}  // namespace
}  // namespace tenon::cpu
