#include <array>

#include "kernels/common/convert.h"
#include "kernels/common/gemm.h"
#include "kernels/common/strided.h"
#include "kernels/common/window.h"

namespace tenon::cpu {
namespace {

// A product with the transposed weights gives one output window per input element, as a column. The columns
// are then added up.
class ConvTranspose {
 public:
  struct State {
    std::vector<WindowDim> window;  // of the reverse convolution: `in` is the output's dim
  };

  explicit ConvTranspose(const NodeView& n)
      : kernel_(n.attr_ints("kernel_shape")),
        strides_(n.attr_ints("strides")),
        dilations_(n.attr_ints("dilations")),
        pads_(n.attr_ints("pads")),
        output_padding_(n.attr_ints("output_padding")),
        output_shape_(n.attr_ints("output_shape")),
        auto_pad_(n.attr_s("auto_pad", "NOTSET")),
        groups_(n.attr_i("group", 1)) {}
  static Support supports(const NodeView& n) {
    return Check(n)
        .inputs(0, kFloatTypes)
        .rank(0, 3)
        .attr_is("auto_pad", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
  }

  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), w = p.input(1).dims();
    require(groups_ > 0 && x[1] % groups_ == 0, TENON_INVALID_ARGUMENT, x[1], " channels in ", groups_,
            " groups");
    const size_t n = x.size() - 2;
    check_lists(n, x.size());
    State s;
    Dims out{x[0], checked_mul(w[1], groups_, "the number of output channels")};
    for (size_t d = 0; d < n; ++d) {
      s.window.push_back(dim(d, n, x[d + 2], w[d + 2]));
      out.push_back(s.window.back().in);
    }
    p.set_output(0, out);
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    const TensorView x = ctx.input(0), w = ctx.input(1), b = ctx.input(2);
    const OutputTensor y = ctx.output(0);
    if (y.size() == 0) return;
    dispatch(kFloatTypes, x.dtype(), [&]<class T>() {
      if constexpr (std::is_floating_point_v<T>) {
        convolve<T>(ctx, s, x.data<T>(), w.data<T>(), b.present() ? b.data<T>() : nullptr, y.data<T>());
      } else {
        auto* out = ctx.scratch<float>(y.size());
        convolve<float>(ctx, s, as_float<T>(ctx, x), as_float<T>(ctx, w),
                        b.present() ? as_float<T>(ctx, b) : nullptr, out);
        store_float<T>(ctx, out, y);
      }
    });
  }

 private:
  static int64_t at(const Dims& list, size_t i, int64_t otherwise) {
    return i < list.size() ? list[i] : otherwise;
  }

  void check_lists(size_t n, size_t rank) const {
    const auto fits = [](const Dims& list, size_t wanted) { return list.empty() || list.size() == wanted; };
    require(fits(kernel_, n) && fits(strides_, n) && fits(dilations_, n) && fits(pads_, 2 * n) &&
                fits(output_padding_, n) && (fits(output_shape_, n) || fits(output_shape_, rank)),
            TENON_INVALID_ARGUMENT,
            "kernel_shape, strides, dilations, pads, output_padding or output_shape do not match ", n,
            " spatial dims");
  }
  WindowDim dim(size_t d, size_t n, int64_t in, int64_t taps) const {
    static constexpr const char* kWhat = "the output";
    WindowDim w;
    w.kernel = at(kernel_, d, taps);
    w.stride = at(strides_, d, 1);
    w.dilation = at(dilations_, d, 1);
    w.out = in;
    w.pad_begin = at(pads_, d, 0);
    w.pad_end = at(pads_, d + n, 0);
    const int64_t extra = at(output_padding_, d, 0);
    require(w.kernel == taps && taps > 0 && w.stride > 0 && w.dilation > 0, TENON_INVALID_ARGUMENT,
            "kernel_shape must match the weights; kernel, strides and dilations must be positive");
    require(w.pad_begin >= 0 && w.pad_end >= 0 && extra >= 0, TENON_INVALID_ARGUMENT,
            "pads and output_padding must not be negative");
    const int64_t reach = checked_add(checked_mul(taps - 1, w.dilation, kWhat), 1, kWhat);
    const int64_t full = checked_add(
        checked_add(in > 0 ? checked_mul(in - 1, w.stride, kWhat) : -w.stride, reach, kWhat), extra, kWhat);
    const bool same = auto_pad_ == "SAME_UPPER" || auto_pad_ == "SAME_LOWER";
    if (output_shape_.empty() && !same) {
      w.in = full - checked_add(w.pad_begin, w.pad_end, kWhat);
    } else {
      // output_shape has all dims or the spatial ones. SAME gives one stride per input element, or less where
      // kernel and output_padding are shorter than the stride: then nothing is cut off.
      w.in = output_shape_.empty() ? std::max<int64_t>(0, std::min(full, checked_mul(in, w.stride, kWhat)))
                                   : output_shape_[output_shape_.size() - n + d];
      require(w.in >= 0, TENON_INVALID_ARGUMENT, "output dim ", d, " would be ", w.in);
      const int64_t total = std::max<int64_t>(0, full - w.in);
      w.pad_begin = auto_pad_ == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.pad_end = total - w.pad_begin;
    }
    require(w.in >= 0, TENON_INVALID_ARGUMENT, "output dim ", d, " would be ", w.in);
    return w;
  }

  template <class T>
  void convolve(const Context& ctx, const State& s, const T* x, const T* w, const T* bias, T* y) const {
    int64_t in_plane = 1, out_plane = 1, taps = 1;
    for (const WindowDim& d : s.window) in_plane *= d.out, out_plane *= d.in, taps *= d.kernel;
    const DimsView xd = ctx.input(0).dims();
    const int64_t channels = xd[1] / groups_, outs = ctx.input(1).dim(1), rows = outs * taps;
    T* columns = ctx.scratch<T>(std::max<int64_t>(1, rows * in_plane));
    const GemmRoom<T> room(ctx, rows, in_plane, channels);
    for (int64_t image = 0; image < xd[0] * groups_; ++image) {
      ctx.check_cancelled();
      const int64_t group = image % groups_;
      gemm<T>(ctx,
              {rows, in_plane, channels, w + group * channels * rows, rows, true,
               x + image * channels * in_plane, in_plane, false, columns, in_plane, false},
              room);
      ctx.parallel_for(outs, 1, [&](int64_t begin, int64_t end) {
        for (int64_t m = begin; m < end; ++m) {
          T* plane = y + (image * outs + m) * out_plane;
          std::fill_n(plane, out_plane, bias == nullptr ? T(0) : bias[group * outs + m]);
          add_columns(ctx, s, columns + m * taps * in_plane, taps, in_plane, plane);
        }
      });
    }
  }

  /// Adds the columns of one output channel to its `plane`.
  template <class T>
  static void add_columns(const Context& ctx, const State& s, const T* columns, int64_t taps,
                          int64_t in_plane, T* plane) {
    const size_t rank = s.window.size();
    const WindowDim* window = s.window.data();
    const WindowDim line = window[rank - 1];
    int64_t tap[TENON_EP_MAX_RANK] = {};
    for (int64_t t = 0; t < taps; ++t) {
      ctx.check_cancelled();
      // Positions [first, last) of a line have 0 <= i * stride + shift < in.
      const int64_t shift = tap[rank - 1] * line.dilation - line.pad_begin;
      const int64_t first = shift >= 0 ? 0 : ceil_div(-shift, line.stride);
      const int64_t last = line.in <= shift ? 0 : std::min(line.out, ceil_div(line.in - shift, line.stride));
      int64_t from[TENON_EP_MAX_RANK] = {};
      for (int64_t done = 0; done < in_plane; done += line.out, columns += line.out) {
        int64_t offset = 0;
        bool inside = true;
        for (size_t d = 0; d + 1 < rank; ++d) {
          const WindowDim& w = window[d];
          const int64_t o = from[d] * w.stride + tap[d] * w.dilation - w.pad_begin;
          inside = inside && o >= 0 && o < w.in;
          offset = offset * w.in + o;
        }
        for (int64_t i = first; inside && i < last; ++i)
          plane[offset * line.in + i * line.stride + shift] += columns[i];
        for (size_t d = rank - 1; d-- > 0 && ++from[d] == window[d].out;) from[d] = 0;
      }
      for (size_t d = rank; d-- > 0 && ++tap[d] == window[d].kernel;) tap[d] = 0;
    }
  }

  Dims kernel_, strides_, dilations_, pads_, output_padding_, output_shape_;
  std::string auto_pad_;
  int64_t groups_;
};

TENON_KERNEL(ConvTranspose, .op_type = "ConvTranspose",
             .contract = "X: [N, C, D...] & rank 3..; W: [C, M, K...] & rank X; B?: [M*$group]")

}  // namespace
}  // namespace tenon::cpu
