// Conv: a product of the filters with the image, laid out as a matrix unless its windows are single points; filters of one
// channel each have a kernel of their own.
#include "kernels/common/gemm.h"
#include "shaders/conv.Depthwise.h"
#include "shaders/conv.Lay.h"
#include "tenon/ep/device/window.hpp"

namespace tenon::vulkan {
namespace {

enum class Way { kPoint, kLaid, kDepthwise };

struct State {
  Way way = Way::kLaid;
  Window window{};
  GemmArgs product;  // for one image, or for all of them with kPoint
  int32_t images = 0, channels = 0, filters = 0, groups = 0;
  int64_t points = 0, depth = 0, columns = 0;  // columns: of the laid matrix, in whole texels
};

bool is_point(const Window& w) {
  for (int d = 0; d < 3; ++d) {
    if (w.size[d] != 1 || w.stride[d] != 1 || w.pad[d] != 0 || w.in[d] != w.out[d]) return false;
  }
  return true;
}

class Conv {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .inputs(0, kRealTypes)
        .rank(0, 3, 5)
        .rank(1, 3, 5)
        .that(n.attr_i("group", 1) > 0, TENON_REJECT_ATTRIBUTE, "group is not positive");
  }
  explicit Conv(const NodeView& n)
      : attributes_(n),
        groups_(n.attr_i("group", 1)),
        lay_(load_kernel(n, shaders::conv_Lay, {0, n.input(0).dtype()})),
        depthwise_(load_kernel(n, shaders::conv_Depthwise, {0, n.input(0).dtype()})),
        gemm_(n, n.input(0).dtype(), -1, -1) {}

  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), f = p.input(1).dims();
    require(f[0] % groups_ == 0, TENON_INVALID_ARGUMENT, "filters ", f, " cannot be divided into ", groups_,
            " groups");
    const Dims places = attributes_.output(x.subspan(2), f.subspan(2));
    Dims y{x[0], f[0]};
    y.insert(y.end(), places.begin(), places.end());
    p.set_output(0, y);
    State out;
    out.window = attributes_.window(x.subspan(2), places, f.subspan(2));
    out.images = narrow(x[0]);
    out.channels = narrow(x[1]);
    out.filters = narrow(f[0]);
    out.groups = narrow(groups_);
    out.points = element_count(places);
    out.depth = element_count(f.subspan(1));
    if (groups_ > 1 && f[1] == 1) {
      out.way = Way::kDepthwise;
      return out;
    }
    out.way = is_point(out.window) ? Way::kPoint : Way::kLaid;
    out.columns = out.way == Way::kPoint ? out.points : (out.points + 3) / 4 * 4;
    out.product = product(out, p.has_input(2));
    if (out.way == Way::kLaid)
      p.workspace(static_cast<uint64_t>(product_of(product_of(out.depth, groups_), out.columns)) *
                          (dtype_bits(p.input(0).dtype()) / 8) +
                      1,
                  128);
    return out;
  }

  void record(Recorder& ctx, const State& state) const {
    if (state.way == Way::kDepthwise) return run_depthwise(ctx, state);
    const TensorArg filters = in(ctx.input(1)), bias = in(ctx.input(2));
    if (state.way == Way::kPoint) {
      gemm_.record(ctx, state.product, filters, in(ctx.input(0)), bias, out(ctx.output(0)));
      return;
    }
    const Window& w = state.window;
    const WorkspaceArg laid{0, dtype_bits(ctx.input(0).dtype()) / 8};
    for (int32_t image = 0; image < state.images; ++image) {
      launch(ctx, lay_, {static_cast<size_t>(state.columns), static_cast<size_t>(state.depth * groups_), 1},
             in(ctx.input(0)), laid, w, state.channels, image, narrow(state.columns));
      gemm_.record(ctx, state.product, filters, laid, bias,
                   out(ctx.output(0), int64_t{image} * state.filters * state.points));
    }
  }

 private:
  GemmArgs product(const State& state, bool has_bias) const {
    GemmArgs out;
    GemmShape& s = out.shape;
    const int64_t rows = state.filters / groups_, images = state.way == Way::kPoint ? state.images : 1;
    s.rows = narrow(rows);
    s.columns = narrow(state.points);
    s.depth = s.a_row = narrow(state.depth);
    s.b_depth = narrow(state.columns);
    s.y_row = s.columns;
    s.bias_row = 1;
    out.beta = has_bias ? 1.0f : 0.0f;
    const int64_t b = state.depth * state.columns, y = rows * state.points;
    s.batches = make_walk(Dims{images, groups_},
                          {{0, rows * state.depth}, {b * groups_, b}, {y * groups_, y}, {0, rows}}, true);
    return out;
  }

  void run_depthwise(Recorder& ctx, const State& state) const {
    const Window& w = state.window;
    launch(ctx, depthwise_,
           {static_cast<size_t>(w.out[2]), static_cast<size_t>(w.out[0]) * static_cast<size_t>(w.out[1]),
            static_cast<size_t>(state.images) * static_cast<size_t>(state.filters)},
           in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)), out(ctx.output(0)), w, state.filters,
           state.filters / state.groups, state.images, int32_t{ctx.has_input(2)}, 0.0f, 0.0f);
  }

  WindowAttributes attributes_;
  int64_t groups_;
  KernelRef lay_, depthwise_;
  GemmKernels gemm_;
};
TENON_KERNEL(Conv, .op_type = "Conv", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..5; W: [M, C/$group, K...] & rank X; B?: [M]")

}  // namespace
}  // namespace tenon::vulkan
