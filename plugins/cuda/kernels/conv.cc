// Conv: pointwise windows as products; filters of one channel applied directly; all others as a product whose right matrix is read
// from the images as it is needed. cuDNN is asked first.
#include "tenon/ep/device/ops/conv.hpp"

#include "convolutions.h"
#include "kernels/common/conv_places.h"
#include "kernels/common/gemm.h"
#include "kernels/common/gemm_text.h"

namespace tenon::cuda {
namespace {

// A column of b is a point of the output of one image, its rows are (channel, place in the window). Threads look up the rows of
// the next part in a table, which they share.
constexpr std::string_view kImages = R"CU(
#define SHAPE Window w, Places p
#define BATCHES p.groups
#define FIND_INPUTS(group) \
  const int64 a_batch = (int64)(group) * g.rows * g.depth, b_batch = (int64)(group) * p.channels * p.area;
#define FIND_OUTPUTS(group) \
  const int64 y_batch = (int64)(group) * g.rows * p.points, bias_batch = (int64)(group) * g.rows;
#define Y_PLACES                                                                                \
  const auto y_at = [&](int m, int n) {                                                         \
    const int image = n / p.points;                                                             \
    return y_batch + ((int64)image * p.groups * g.rows + m) * p.points + (n - image * p.points); \
  };                                                                                            \
  const auto bias_at = [&](int m, int) { return bias_batch + m; };
#define TURNED_A 0
#define STEPS 1
#define PRODUCT(name) Conv##name
struct alignas(16) Tap {
  int offset, d, h, q;  // in elements; and along each axis
};
#define STORE_B(e) bs[buffer][b_k + e * (kThreads / SIDE)][b_n]
#define B_SOURCE                                                                                \
  __shared__ Tap taps[2][kDepth];                                                               \
  const int b_n = thread % SIDE, b_k = thread / SIDE, column = n0 + b_n;                        \
  const bool b_inside = column < g.columns;                                                     \
  const int image = column / p.points, point = column - image * p.points;                       \
  const int oq = point % w.out[2], oh = point / w.out[2] % w.out[1], od = point / w.out[2] / w.out[1]; \
  const int d0 = od * w.stride[0] - w.pad[0], h0 = oh * w.stride[1] - w.pad[1], q0 = oq * w.stride[2] - w.pad[2]; \
  const T* b_from = b + b_batch + (int64)image * p.groups * p.channels * p.area +               \
                    ((int64)d0 * w.in[1] + h0) * w.in[2] + q0;                                  \
  const auto find_b = [&](int k) {                                                              \
    if (thread >= kDepth) return;                                                               \
    const int row = k + thread, size = w.size[0] * w.size[1] * w.size[2];                       \
    const int channel = row / size, tap = row - channel * size;                                 \
    const int kq = tap % w.size[2], kh = tap / w.size[2] % w.size[1], kd = tap / w.size[2] / w.size[1]; \
    const int d = kd * w.dilation[0], h = kh * w.dilation[1], q = kq * w.dilation[2];           \
    taps[(k - begin) / kDepth % 2][thread] = {channel * p.area + (d * w.in[1] + h) * w.in[2] + q, d, h, q}; \
  };                                                                                            \
  const auto load_b = [&](int k, int end, T(&to)[kLine]) {                                      \
    _Pragma("unroll") for (int e = 0; e < kLine; ++e) {                                         \
      const int step = b_k + e * (kThreads / SIDE);                                             \
      const Tap tap = taps[(k - begin) / kDepth % 2][step];                                     \
      const bool inside = b_inside && k + step < end && (uint32)(d0 + tap.d) < (uint32)w.in[0] && \
                          (uint32)(h0 + tap.h) < (uint32)w.in[1] && (uint32)(q0 + tap.q) < (uint32)w.in[2]; \
      to[e] = inside ? b_from[tap.offset] : T();                                                \
    }                                                                                           \
  };
)CU";
constexpr Source kSource{"conv", kJoined<kLines, kConvPlaces, kImages, kGemmSums, kGemmTile>};

constexpr Source kDepthwiseSource{"conv_depthwise", R"CU(
KERNEL Depthwise(IN(T, x), IN(T, f), IN(T, bias), IN(T, addend), OUT(T, y), Window w, int filters, int multiplier,
                 int images, float low, float high) {
  EACH_Z(plane, (int64)images * filters) EACH_Y(line, w.out[0] * w.out[1]) EACH(column, w.out[2]) {
    const int image = (int)(plane / filters), filter = (int)(plane - (int64)image * filters);
    const int od = (int)line / w.out[1], oh = (int)line - od * w.out[1], oq = (int)column;
    const int64 channel = (int64)image * (filters / multiplier) + filter / multiplier;
    const T* from = x + channel * w.in[0] * w.in[1] * w.in[2];
    const T* taps = f + (int64)filter * w.size[0] * w.size[1] * w.size[2];
    C sum = bias == nullptr ? (C)0 : (C)bias[filter];
    for (int kd = 0; kd < w.size[0]; ++kd) {
      const int d = od * w.stride[0] + kd * w.dilation[0] - w.pad[0];
      if (d < 0 || d >= w.in[0]) continue;
      for (int kh = 0; kh < w.size[1]; ++kh) {
        const int h = oh * w.stride[1] + kh * w.dilation[1] - w.pad[1];
        if (h < 0 || h >= w.in[1]) continue;
        for (int kq = 0; kq < w.size[2]; ++kq) {
          const int q = oq * w.stride[2] + kq * w.dilation[2] - w.pad[2];
          if (q < 0 || q >= w.in[2]) continue;
          sum += (C)from[(d * w.in[1] + h) * w.in[2] + q] * (C)taps[(kd * w.size[1] + kh) * w.size[2] + kq];
        }
      }
    }
    const int64 at = (plane * w.out[0] * w.out[1] + line) * w.out[2] + column;
    if (addend != nullptr) sum += (C)addend[at];
    if (low != high) sum = sum < (C)low ? (C)low : sum > (C)high ? (C)high : sum;
    y[at] = sum;
  }
}
)CU"};

/// The kernels of ops::Conv for windows.
class Patches {
 public:
  /// By the library, or by an own kernel with a plan.
  struct Whole {
    ConvolutionPlanPtr library;
    bool is_own = false;
    GemmPlan tiles;
    uint64_t bytes = 0;
    explicit operator bool() const { return library != nullptr || is_own; }
  };

  Patches(const NodeView& n, bool is_depthwise)
      : instance_(&instance_of(n)), dtype_(n.input(0).dtype()), library_(n) {
    if (is_depthwise) depthwise_ = load_depthwise();
  }

  Whole whole(const ops::ConvState& state, bool has_bias, bool has_addend, Clamp) const {
    Whole out;
    if (state.images == 0 || state.filters == 0 || state.points == 0) return out;
    out.library = library_.plan(state.window, state.axes, state.images, state.channels, state.filters,
                                state.groups, has_bias, has_addend);
    if (out.library != nullptr) {
      out.bytes = NodeConvolution::workspace_bytes(*out.library);
      return out;
    }
    if (state.way == ops::ConvState::Way::kDepthwise || ops::is_pointwise(state.window)) return out;
    out.is_own = true;
    const int64_t rows = state.filters / state.groups, columns = product_of(state.points, state.images);
    out.tiles = GemmPlan::of_tiles(rows, narrow(columns), state.groups, narrow(state.depth),
                                   dtype_bits(dtype_) / 8, instance_->device.limits().processors);
    if (out.tiles.splits > 1)
      out.bytes = uint64_t{gemm_sum_bytes(dtype_)} * static_cast<uint64_t>(out.tiles.splits) *
                  static_cast<uint64_t>(state.filters) * static_cast<uint64_t>(columns);
    return out;
  }
  static uint64_t whole_bytes(const Whole& whole) { return whole.bytes; }

  void convolve(Recorder& ctx, const ops::ConvState& state, const Whole& whole, Clamp clamp) const {
    const TensorArg x = in(ctx.input(0)), f = in(ctx.input(1)), bias = in(ctx.input(kBiasInput)),
                    addend = in(ctx.input(kAddendInput)), y = out(ctx.output(0));
    if (whole.library != nullptr) return library_.record(ctx, whole.library, x, f, bias, addend, y);
    const Window& w = state.window;
    const int64_t area = int64_t{w.in[0]} * w.in[1] * w.in[2];
    const ConvPlaces places{state.groups, state.channels / state.groups, narrow(area), narrow(state.points)};
    GemmNumbers numbers;
    numbers.rows = state.filters / state.groups;
    numbers.columns = narrow(state.points * state.images);
    numbers.depth = numbers.a_row = narrow(state.depth);
    numbers.beta = ctx.has_input(kBiasInput) ? 1.0f : 0.0f;
    numbers.lowest = clamp.low;
    numbers.highest = clamp.high;
    numbers.splits = whole.tiles.splits;
    numbers.part = whole.tiles.part;
    const std::string defines = defines_of({computes_in(dtype_), number("SIDE", whole.tiles.side)});
    const KernelRef tile = find_kernel(*instance_, kSource, defines, "ConvTile");
    const Size3 threads{256, 1, 1};
    if (numbers.splits == 1)
      return launch_blocks(ctx, tile, whole.tiles.blocks, threads, f, x, bias, addend, y, PieceArg{}, w,
                           places, numbers);
    const WorkspaceArg partial{0, gemm_sum_bytes(dtype_)};
    launch_blocks(ctx, tile, whole.tiles.blocks, threads, f, x, bias, addend, y, partial, w, places, numbers);
    launch(ctx, find_kernel(*instance_, kSource, defines, "ConvSum"),
           {static_cast<size_t>(numbers.columns), static_cast<size_t>(numbers.rows),
            static_cast<size_t>(state.groups)},
           partial, bias, addend, y, w, places, numbers);
  }

  void depthwise(Recorder& ctx, uint64_t, const Window& w, int32_t filters, int32_t multiplier,
                 int32_t images, Clamp clamp) const {
    launch(ctx, depthwise_ ? depthwise_ : load_depthwise(),
           {static_cast<size_t>(w.out[2]), static_cast<size_t>(w.out[0]) * static_cast<size_t>(w.out[1]),
            static_cast<size_t>(images) * static_cast<size_t>(filters)},
           in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(kBiasInput)), in(ctx.input(kAddendInput)),
           out(ctx.output(0)), w, filters, multiplier, images, clamp.low, clamp.high);
  }

 private:
  KernelRef load_depthwise() const {
    return find_kernel(*instance_, kDepthwiseSource, defines_of({computes_in(dtype_)}), "Depthwise");
  }

  const Instance* instance_;
  uint32_t dtype_;
  NodeConvolution library_;
  KernelRef depthwise_;  // loaded early if the filters are known to have one channel
};

struct Kernels : Backend<kSource> {
  using Gemm = GemmKernels;
  using Patches = cuda::Patches;
};

TENON_KERNEL(ops::Conv<Kernels>, .op_type = "Conv", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..5; W: [M, C/$group, K...] & rank X; B?: [M]")

}  // namespace
}  // namespace tenon::cuda
