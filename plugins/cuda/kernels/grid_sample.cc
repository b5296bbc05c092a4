// GridSample: images of one to three spatial axes, sampled at points.
#include "kernels/common/kernel.h"
#include "tenon/ep/device/axes.hpp"

namespace tenon::cuda {
namespace {

// A thread does one point of some channels. Missing axes come first and have one element. The coordinates of a point are in
// [-1, 1], those of the last axis first. What is computed follows ONNX's reference.
constexpr Source kSource{"grid_sample", R"CU(
struct Grid {
  int images, channels, points, axes;
  int size[3];
  int is_border, is_reflection, aligns_corners;
};
// Mirrors v at both ends until it is within [low, high].
__device__ inline double reflect(double v, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const bool below = v < low;
  if (!below && v <= high) return v;
  const double beyond = below ? low - v : v - high, turns = floor(beyond / range);
  const double rest = beyond - turns * range;
  return (fmod(turns, 2.0) == 0) == below ? low + rest : high - rest;
}
__device__ inline double clamped(double v, double limit) { return v < -limit ? -limit : v > limit ? limit : v; }
// The elements along one axis that contribute, and their weights; 0 for those outside. One is the nearest element, two
// are linear, four cubic.
struct Taps {
  int index[TAPS];
  C weight[TAPS];
};
__device__ inline C cubic_near(C v) { return ((C)1.25 * v - (C)2.25) * v * v + 1; }
__device__ inline C cubic_far(C v) { return (((C)-0.75 * v + (C)3.75) * v - 6) * v + 3; }
// The place is computed in double: far outside, float32 would lose to which element a reflection leads.
__device__ inline Taps taps_of(double normalized, int size, const Grid& g) {
  const double length = size, low = g.aligns_corners ? 0 : -0.5;
  const double high = g.aligns_corners ? length - 1 : length - 0.5;
  if (normalized != normalized) normalized = -1e9;  // NaN is outside
  double v = g.aligns_corners ? (normalized + 1) / 2 * (length - 1) : ((normalized + 1) * length - 1) / 2;
  v = clamped(v, 1e15);
  if (TAPS == 1) v = rint(v);
  if (g.is_reflection) v = reflect(v, low, high);
  v = clamped(v, 1e9);
  const double base = floor(v);
  Taps out;
#if TAPS == 1
  out.weight[0] = 1;
#else
  const C t = (C)(v - base);
#endif
#if TAPS == 2
  out.weight[0] = 1 - t;
  out.weight[1] = t;
#elif TAPS == 4
  out.weight[0] = cubic_far(1 + t);
  out.weight[1] = cubic_near(t);
  out.weight[2] = cubic_near(1 - t);
  out.weight[3] = cubic_far(2 - t);
#endif
  const int first = (int)base - (TAPS == 4 ? 1 : 0);
#pragma unroll
  for (int k = 0; k < TAPS; ++k) {
    int at = first + k;
    if (at < 0 || at >= size) {
      if (g.is_reflection) at = (int)reflect(at, low, high);
      at = at < 0 ? 0 : at >= size ? size - 1 : at;
      if (!(g.is_border || g.is_reflection) || size == 0) out.weight[k] = 0;
    }
    out.index[k] = at;
  }
  return out;
}
KERNEL GridSample(IN(T, x), IN(G, grid), OUT(T, y), Grid g) {
  const int64 plane = (int64)g.size[0] * g.size[1] * g.size[2];
  EACH_Z(image, g.images) EACH(point, g.points) {
    const G* at = grid + (image * g.points + point) * g.axes;
    const Taps b = g.axes > 1 ? taps_of((double)at[1], g.size[1], g) : Taps{{0}, {1}};
    const Taps a = g.axes > 2 ? taps_of((double)at[2], g.size[0], g) : Taps{{0}, {1}};
    const Taps c = taps_of((double)at[0], g.size[2], g);
    EACH_Y(channel, g.channels) {
      const T* from = x + (image * g.channels + channel) * plane;
      T* to = y + (image * g.channels + channel) * g.points + point;
#if TAPS == 1
      const bool inside = a.weight[0] * b.weight[0] * c.weight[0] != 0;
      *to = inside ? from[((int64)a.index[0] * g.size[1] + b.index[0]) * g.size[2] + c.index[0]] : T((C)0);
#else
      C sum = 0;
#pragma unroll
      for (int i = 0; i < TAPS; ++i) {
        if (a.weight[i] == 0) continue;
#pragma unroll
        for (int j = 0; j < TAPS; ++j) {
          if (b.weight[j] == 0) continue;
          const T* line = from + ((int64)a.index[i] * g.size[1] + b.index[j]) * g.size[2];
          const C weight = a.weight[i] * b.weight[j];
#pragma unroll
          for (int k = 0; k < TAPS; ++k) {
            if (c.weight[k] != 0) sum += weight * c.weight[k] * (C)line[c.index[k]];
          }
        }
      }
      *to = sum;
#endif
    }
  }
}
)CU"};
using Kernels = Backend<kSource>;

constexpr int64_t kMostAxes = 3;
constexpr size_t kChannelsPerThread = 8;  // which share what a point's coordinates say

/// Declared alike in the text.
struct Grid {
  int32_t images = 0, channels = 0, points = 0, axes = 0;
  int32_t size[kMostAxes] = {1, 1, 1};
  int32_t is_border = 0, is_reflection = 0, aligns_corners = 0;
};

/// The elements along each axis that contribute to a sample.
int64_t taps_of(const std::string& mode) {
  if (mode == "nearest") return 1;
  return mode == "cubic" || mode == "bicubic" ? 4 : 2;
}

class GridSample {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kDeviceRealTypes)
        .input(1, kDeviceRealTypes)
        .rank(0, 3, kMostAxes + 2)
        .attr_is("mode", {"nearest", "linear", "cubic", "bilinear", "bicubic"})
        .attr_is("padding_mode", {"zeros", "border", "reflection"});
  }
  explicit GridSample(const NodeView& n)
      : padding_(n.attr_s("padding_mode", "zeros")),
        aligns_corners_(n.attr_i("align_corners", 0) != 0),
        kernel_(Kernels::load(n, "GridSample",
                              {computes_in(n.input(0).dtype()), computes_in(n.input(1).dtype(), "G"),
                               number("TAPS", taps_of(n.attr_s("mode", "linear")))})) {}
  Grid prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), grid = p.input(1).dims();
    const auto axes = static_cast<int64_t>(x.size()) - 2;
    require(axes <= kMostAxes, TENON_INVALID_ARGUMENT, "rank ", x.size(), " is not supported; the limit is ",
            kMostAxes + 2);
    require(grid.back() == axes, TENON_INVALID_ARGUMENT, "grid ", grid, " has ", grid.back(),
            " coordinates for each point of input ", x);
    Dims out{x[0], x[1]};
    out.insert(out.end(), grid.begin() + 1, grid.end() - 1);
    // With zero padding a point of an image without elements is 0. The other modes need an element.
    require(padding_ == "zeros" || element_count(x.subspan(2)) > 0 || element_count(out) == 0,
            TENON_INVALID_ARGUMENT, "an image of shape ", x, " has no elements; padding_mode must be zeros");
    p.set_output(0, out);
    Grid g;
    g.images = narrow(x[0]);
    g.channels = narrow(x[1]);
    g.points = narrow(element_count(DimsView(out).subspan(2)));
    g.axes = narrow(axes);
    for (int64_t d = 0; d < axes; ++d) g.size[kMostAxes - axes + d] = narrow(x[static_cast<size_t>(d) + 2]);
    g.is_border = padding_ == "border";
    g.is_reflection = padding_ == "reflection";
    g.aligns_corners = aligns_corners_;
    return g;
  }
  void record(Recorder& ctx, const Grid& grid) const {
    const auto channels = static_cast<size_t>(grid.channels);
    launch(ctx, kernel_,
           {static_cast<size_t>(grid.points), (channels + kChannelsPerThread - 1) / kChannelsPerThread,
            static_cast<size_t>(grid.images)},
           in(ctx.input(0)), in(ctx.input(1)), out(ctx.output(0)), grid);
  }

 private:
  std::string padding_;
  bool aligns_corners_;
  KernelRef kernel_;
};
TENON_KERNEL(GridSample, .op_type = "GridSample", .since = 16,
             .contract = "X: [N, C, D...] & rank 3..5; grid: [N, P...] & rank X")

}  // namespace
}  // namespace tenon::cuda
