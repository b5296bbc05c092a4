#include <cmath>

#include "kernels/common/convert.h"
#include "kernels/common/gemm.h"
#include "kernels/common/window.h"

namespace tenon::cpu {
namespace {

constexpr TypeList<float, double, Float16, BFloat16> kTypes;

struct DeformState {
  std::vector<WindowDim> window;
  int64_t taps = 1, points = 1;
};

// Convolution over two dims. Offsets [N, groups * taps * 2, out...] (y, x) move the taps; a mask [N, groups *
// taps, out...] weights them.
class DeformConv {
 public:
  using State = DeformState;
  static Support supports(const NodeView& n) { return Check(n).input(0, kTypes).rank(0, 4, 4).rank(1, 4, 4); }
  explicit DeformConv(const NodeView& n)
      : window_(n), group_(n.attr_i("group", 1)), offset_group_(n.attr_i("offset_group", 1)) {
    require(group_ > 0 && offset_group_ > 0, TENON_INVALID_ARGUMENT, "group is ", group_, ", offset_group ",
            offset_group_);
  }

  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), w = p.input(1).dims(), offset = p.input(2).dims();
    require(w[0] % group_ == 0 && x[1] % offset_group_ == 0, TENON_INVALID_ARGUMENT, "input ", x,
            " and weights ", w, " with group ", group_, " and offset_group ", offset_group_);
    State s;
    s.window = window_.resolve(x.subspan(2), w.subspan(2));
    for (const WindowDim& d : s.window)
      s.taps *= d.kernel, s.points = checked_mul(s.points, d.out, "the output");
    require(offset[2] == s.window[0].out && offset[3] == s.window[1].out, TENON_INVALID_ARGUMENT,
            "offsets of shape ", offset, " for ", s.window[0].out, " x ", s.window[1].out, " points");
    p.set_output(0, window_output(x[0], w[0], s.window));
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    dispatch(kTypes, ctx.input(0).dtype(), [&]<class T>() {
      if constexpr (std::is_same_v<T, double>) {
        convolve<double>(ctx, s, pointers<double>(ctx), ctx.output(0).data<double>());
      } else if constexpr (std::is_same_v<T, float>) {
        convolve<float>(ctx, s, pointers<float>(ctx), ctx.output(0).data<float>());
      } else {
        auto* y = ctx.scratch<float>(ctx.output(0).size());
        std::array<const float*, 5> in{};
        for (int i = 0; i < 5; ++i)
          if (ctx.has_input(i)) in[static_cast<size_t>(i)] = as_float<T>(ctx, ctx.input(i));
        convolve<float>(ctx, s, in, y);
        store_float<T>(ctx, y, ctx.output(0));
      }
    });
  }

 private:
  template <class C>
  static std::array<const C*, 5> pointers(const Context& ctx) {
    std::array<const C*, 5> out{};
    for (int i = 0; i < 5; ++i)
      if (ctx.has_input(i)) out[static_cast<size_t>(i)] = ctx.input(i).data<C>();
    return out;
  }

  template <class C>
  static C bilinear(const C* plane, int64_t height, int64_t width, double y, double x) {
    if (!(y > -1 && x > -1 && y < static_cast<double>(height) && x < static_cast<double>(width))) return 0;
    const double fy = std::floor(y), fx = std::floor(x), dy = y - fy, dx = x - fx;
    const auto top = static_cast<int64_t>(fy), left = static_cast<int64_t>(fx);
    const auto at = [&](int64_t h, int64_t w) {
      return h >= 0 && h < height && w >= 0 && w < width ? static_cast<double>(plane[h * width + w]) : 0.0;
    };
    return static_cast<C>((1 - dy) * ((1 - dx) * at(top, left) + dx * at(top, left + 1)) +
                          dy * ((1 - dx) * at(top + 1, left) + dx * at(top + 1, left + 1)));
  }

  /// The sampled input of one image as columns [channels * taps, points].
  template <class C>
  void sample(const Context& ctx, const State& s, const C* x, const C* offset, const C* mask,
              C* columns) const {
    const int64_t channels = ctx.input(0).dim(1), height = s.window[0].in, width = s.window[1].in;
    const int64_t per_group = channels / offset_group_;
    ctx.parallel_for(
        channels * s.taps, std::max<int64_t>(1, kGrainCostly / (s.points + 1)),
        [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            ctx.check_cancelled();
            const int64_t channel = row / s.taps, tap = row % s.taps;
            const int64_t place = channel / per_group * s.taps + tap;  // of the tap, in the offset groups
            const C *dy = offset + place * 2 * s.points, *dx = dy + s.points;
            const int64_t ky = tap / s.window[1].kernel, kx = tap % s.window[1].kernel;
            for (int64_t i = 0; i < s.points; ++i) {
              const int64_t oy = i / s.window[1].out, ox = i % s.window[1].out;
              const auto y = static_cast<double>(oy * s.window[0].stride - s.window[0].pad_begin +
                                                 ky * s.window[0].dilation);
              const auto xx = static_cast<double>(ox * s.window[1].stride - s.window[1].pad_begin +
                                                  kx * s.window[1].dilation);
              const C value = bilinear(x + channel * height * width, height, width,
                                       y + static_cast<double>(dy[i]), xx + static_cast<double>(dx[i]));
              columns[row * s.points + i] = mask == nullptr ? value : value * mask[place * s.points + i];
            }
          }
        });
  }

  template <class C>
  void convolve(const Context& ctx, const State& s, const std::array<const C*, 5>& in, C* y) const {
    const DimsView x = ctx.input(0).dims(), w = ctx.input(1).dims();
    const int64_t rows = w[1] * s.taps, outs = w[0] / group_;
    auto* columns = ctx.scratch<C>(x[1] * s.taps * s.points);
    const GemmRoom<C> room(ctx, outs, s.points, rows);
    for (int64_t n = 0; n < x[0]; ++n) {
      const int64_t place = n * offset_group_ * s.taps * s.points;
      sample<C>(ctx, s, in[0] + n * count_between(x, 1, 4), in[2] + place * 2,
                in[4] == nullptr ? nullptr : in[4] + place, columns);
      for (int64_t g = 0; g < group_; ++g) {
        C* out = y + (n * w[0] + g * outs) * s.points;
        for (int64_t o = 0; o < outs; ++o)
          std::fill_n(out + o * s.points, s.points, in[3] == nullptr ? C{0} : in[3][g * outs + o]);
        gemm<C>(ctx,
                {outs, s.points, rows, in[1] + g * outs * rows, rows, false, columns + g * rows * s.points,
                 s.points, false, out, s.points, true},
                room);
      }
    }
  }

  WindowAttributes window_;
  int64_t group_, offset_group_;
};
TENON_KERNEL(DeformConv, .op_type = "DeformConv", .since = 19,
             .contract =
                 "X: [N, C, H, W]; weights: [M, C/$group, KH, KW]; "
                 "offset: [N, 2*$offset_group*KH*KW, OH, OW]; B?: [M]; "
                 "mask?: [N, $offset_group*KH*KW, OH, OW]")

}  // namespace
}  // namespace tenon::cpu
