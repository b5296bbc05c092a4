#include "kernels/common/convert.h"
#include "kernels/common/gemm.h"
#include "kernels/common/im2col.h"

namespace tenon::cpu {
namespace {

// Columns are laid out in blocks of this many bytes, one product each, to stay in the second-level cache.
constexpr int64_t kBlockBytes = 256 << 10;

struct ConvState {
  std::vector<WindowDim> window;
  int64_t batch = 0, groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // per group
  int64_t in_plane = 1, out_plane = 1, taps = 1;
  bool pointwise = false, depthwise = false;
};

template <class T>
struct ConvData {
  const T *x, *w, *bias;
  T* y;
};

struct Conv {
  using State = ConvState;

  static Support supports(const NodeView& n) {
    return Check(n)
        .needs_input(0)
        .needs_input(1)
        .inputs(0, kFloatTypes)
        .rank(0, 3)
        .rank(1, 3)
        .attr_is("auto_pad", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
  }
  explicit Conv(const NodeView& n) : window_(n), groups_(n.attr_i("group", 1)) {}

  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), w = p.input(1).dims();
    State s;
    s.window = window_.resolve(x.subspan(2), w.subspan(2));
    s.batch = x[0];
    s.groups = groups_;
    s.in_channels = w[1];
    require(w[0] % groups_ == 0, TENON_INVALID_ARGUMENT, w[0], " output channels in ", groups_, " groups");
    s.out_channels = w[0] / groups_;
    bool plain = true;
    for (const WindowDim& d : s.window) {
      s.in_plane *= d.in;
      s.out_plane *= d.out;
      s.taps *= d.kernel;
      plain = plain && d.stride == 1 && d.pad_begin == 0 && d.pad_end == 0;
    }
    s.pointwise = plain && s.taps == 1;
    s.depthwise = s.in_channels == 1 && s.window.size() <= 2;
    p.set_output(0, window_output(x[0], w[0], s.window));
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    const TensorView x = ctx.input(0), w = ctx.input(1), b = ctx.input(2);
    const OutputTensor y = ctx.output(0);
    if (y.size() == 0) return;
    dispatch(kFloatTypes, x.dtype(), [&]<class T>() {
      if constexpr (std::is_floating_point_v<T>) {
        convolve<T>(ctx, s, {x.data<T>(), w.data<T>(), b.present() ? b.data<T>() : nullptr, y.data<T>()});
      } else {
        auto* out = ctx.scratch<float>(y.size());
        convolve<float>(
            ctx, s,
            {as_float<T>(ctx, x), as_float<T>(ctx, w), b.present() ? as_float<T>(ctx, b) : nullptr, out});
        store_float<T>(ctx, out, y);
      }
    });
  }

 private:
  template <class T>
  static void convolve(const Context& ctx, const State& s, const ConvData<T>& data) {
    if (s.depthwise) return each_plane(ctx, s, data);
    if (s.pointwise) return pointwise(ctx, s, data);
    by_columns(ctx, s, data);
  }

  template <class T>
  static void fill_bias(const State& s, const ConvData<T>& data, int64_t channel, T* y, int64_t ld,
                        int64_t n) {
    for (int64_t m = 0; m < s.out_channels; ++m) {
      std::fill_n(y + m * ld, n, data.bias == nullptr ? T(0) : data.bias[channel + m]);
    }
  }

  // For a plain kernel of one tap: the input is already the column matrix.
  template <class T>
  static void pointwise(const Context& ctx, const State& s, const ConvData<T>& data) {
    gemm_batch<T>(ctx, s.batch * s.groups, [&](int64_t i) {
      const int64_t group = i % s.groups;
      T* y = data.y + i * s.out_channels * s.out_plane;
      fill_bias(s, data, group * s.out_channels, y, s.out_plane, s.out_plane);
      return isa::Gemm<T>{s.out_channels,
                          s.out_plane,
                          s.in_channels,
                          data.w + group * s.out_channels * s.in_channels,
                          s.in_channels,
                          false,
                          data.x + i * s.in_channels * s.in_plane,
                          s.out_plane,
                          false,
                          y,
                          s.out_plane,
                          true};
    });
  }

  template <class T>
  static void by_columns(const Context& ctx, const State& s, const ConvData<T>& data) {
    const int64_t rows = s.in_channels * s.taps;
    const int64_t width =
        std::clamp<int64_t>(kBlockBytes / (std::max<int64_t>(1, rows) * static_cast<int64_t>(sizeof(T))), 32,
                            std::max<int64_t>(32, s.out_plane));
    const int64_t blocks = (s.out_plane + width - 1) / width;
    const int64_t work = std::max<int64_t>(1, rows * width * s.out_channels);
    const WorkerLists<T> columns(ctx, rows * width);
    const GemmRoom<T> room(ctx, s.out_channels, width, rows);
    ctx.parallel_for(s.batch * s.groups * blocks, std::max<int64_t>(1, kGrainFlops / work),
                     [&](uint32_t worker, int64_t begin, int64_t end) {
                       T* mine = columns.of(worker).data();
                       for (int64_t i = begin; i < end; ++i) {
                         ctx.check_cancelled();
                         const int64_t image = i / blocks, first = i % blocks * width,
                                       n = std::min(width, s.out_plane - first);
                         const int64_t group = image % s.groups;
                         im2col(data.x + image * s.in_channels * s.in_plane, s.in_channels, s.window, first,
                                n, T(0), mine);
                         T* y = data.y + image * s.out_channels * s.out_plane + first;
                         fill_bias(s, data, group * s.out_channels, y, s.out_plane, n);
                         room.multiply(worker,
                                       {s.out_channels, n, rows, data.w + group * s.out_channels * rows, rows,
                                        false, mine, n, false, y, s.out_plane, true});
                       }
                     });
  }

  // For one input channel per group and one or two spatial dims: output planes are sums of shifted input
  // planes.
  template <class T>
  static void each_plane(const Context& ctx, const State& s, const ConvData<T>& data) {
    const WindowDim line = s.window.back(), column = s.window.size() == 2 ? s.window.front() : WindowDim();
    const int64_t channels = s.groups * s.out_channels;
    const int64_t grain = std::max<int64_t>(1, kGrainCheap / std::max<int64_t>(1, s.out_plane * s.taps));
    const auto axpy = isa_table().axpy;
    ctx.parallel_for(s.batch * channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t channel = i % channels;
        const T* x = data.x + i / s.out_channels * s.in_plane;
        T* y = data.y + i * s.out_plane;
        std::fill_n(y, s.out_plane, data.bias == nullptr ? T(0) : data.bias[channel]);
        for (int64_t row = 0; row < column.out; ++row) {
          ctx.check_cancelled();
          for (int64_t v = column.first_tap(row); v < column.last_tap(row); ++v) {
            const T* source = x + (row * column.stride - column.pad_begin + v * column.dilation) * line.in;
            add_line(line, source, data.w + channel * s.taps + v * line.kernel, y + row * line.out, axpy);
          }
        }
      }
    });
  }

  template <class T>
  static void add_line(const WindowDim& line, const T* source, const T* taps, T* y,
                       decltype(isa::Table::axpy) axpy) {
    for (int64_t u = 0; u < line.kernel; ++u) {
      const int64_t shift = u * line.dilation - line.pad_begin;
      // Positions [first, last) have 0 <= o * stride + shift < in.
      const int64_t first = shift >= 0 ? 0 : (-shift + line.stride - 1) / line.stride;
      const int64_t last =
          line.in <= shift ? 0 : std::min(line.out, (line.in - shift + line.stride - 1) / line.stride);
      if (first >= last) continue;
      if constexpr (std::is_same_v<T, float>) {
        if (line.stride == 1) {
          axpy(taps[u], source + first + shift, y + first, last - first);
          continue;
        }
      }
      for (int64_t o = first; o < last; ++o) y[o] += taps[u] * source[o * line.stride + shift];
    }
  }

  WindowAttributes window_;
  int64_t groups_;
};
TENON_KERNEL(Conv, .op_type = "Conv",
             .contract = "X: [N, C, D...] & rank 3..; W: [M, C/$group, K...] & rank X; B?: [M]")

}  // namespace
}  // namespace tenon::cpu
