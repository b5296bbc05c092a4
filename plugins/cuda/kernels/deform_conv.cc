// DeformConv over two axes: the sampled input of an image as a matrix, and its product with the weights of each group.
#include "kernels/common/gemm.h"
#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/window.hpp"

namespace tenon::cuda {
namespace {

// Offsets [groups * taps * 2, out] of one image, (y, x), move the taps; a mask [groups * taps, out] weights them. The result is
// [channels * taps, out]. The first axis of the window is not used.
constexpr Source kSource{"deform_conv", R"CU(
KERNEL Sample(IN(T, x), IN(T, offset), IN(T, mask), OUT(T, columns), Window w, int channels, int per_group) {
  const int taps = w.size[1] * w.size[2], points = w.out[1] * w.out[2], height = w.in[1], width = w.in[2];
  EACH_Y(row, channels * taps) {
    const int channel = (int)row / taps, tap = (int)row - channel * taps, ky = tap / w.size[2], kx = tap - ky * w.size[2];
    const int64 place = (int64)(channel / per_group) * taps + tap;
    const T *move_y = offset + place * 2 * points, *move_x = move_y + points;
    const T* plane = x + (int64)channel * height * width;
    EACH(i, points) {
      const int oy = (int)i / w.out[2], ox = (int)i - oy * w.out[2];
      const C at_y = (C)(oy * w.stride[1] - w.pad[1] + ky * w.dilation[1]) + (C)move_y[i];
      const C at_x = (C)(ox * w.stride[2] - w.pad[2] + kx * w.dilation[2]) + (C)move_x[i];
      C sum = 0;
      if (at_y > -1 && at_x > -1 && at_y < (C)height && at_x < (C)width) {
        const C floor_y = floor(at_y), floor_x = floor(at_x), dy = at_y - floor_y, dx = at_x - floor_x;
        const int top = (int)floor_y, left = (int)floor_x;
        const auto at = [&](int h, int v) {
          return h >= 0 && h < height && v >= 0 && v < width ? (C)plane[(int64)h * width + v] : (C)0;
        };
        sum = (1 - dy) * ((1 - dx) * at(top, left) + dx * at(top, left + 1)) +
              dy * ((1 - dx) * at(top + 1, left) + dx * at(top + 1, left + 1));
      }
      if (mask != nullptr) sum *= (C)mask[place * points + i];
      columns[row * points + i] = sum;
    }
  }
}
)CU"};
using Kernels = Backend<kSource>;

struct DeformState {
  Window window{};
  GemmArgs product;  // of one image, for all groups
  int32_t images = 0, channels = 0, per_group = 0;
  int64_t x_image = 0, offset_image = 0, mask_image = 0, y_image = 0;  // elements of an image
};

class DeformConv {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .inputs(0, kDeviceRealTypes)
        .rank(0, 4, 4)
        .rank(1, 4, 4)
        .that(n.attr_i("group", 1) > 0 && n.attr_i("offset_group", 1) > 0, TENON_REJECT_ATTRIBUTE,
              "group or offset_group is not positive");
  }
  explicit DeformConv(const NodeView& n)
      : attributes_(n),
        group_(n.attr_i("group", 1)),
        offset_group_(n.attr_i("offset_group", 1)),
        bytes_(dtype_bits(n.input(0).dtype()) / 8),
        sample_(Kernels::load(n, "Sample", {computes_in(n.input(0).dtype())})),
        gemm_(n, n.input(0).dtype(), -1, -1) {}

  DeformState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), w = p.input(1).dims(), offset = p.input(2).dims();
    require(w[0] % group_ == 0 && x[1] % offset_group_ == 0, TENON_INVALID_ARGUMENT, "input ", x,
            " and weights ", w, " with group ", group_, " and offset_group ", offset_group_);
    const Dims places = attributes_.output(x.subspan(2), w.subspan(2));
    require(offset[2] == places[0] && offset[3] == places[1], TENON_INVALID_ARGUMENT, "offsets of shape ",
            offset, " for ", places[0], " x ", places[1], " points");
    p.set_output(0, Dims{x[0], w[0], places[0], places[1]});
    const int64_t taps = element_count(w.subspan(2)), points = element_count(places), outs = w[0] / group_,
                  depth = product_of(w[1], taps);
    DeformState out;
    out.window = attributes_.window(x.subspan(2), places, w.subspan(2));
    out.images = narrow(x[0]);
    out.channels = narrow(x[1]);
    out.per_group = narrow(std::max<int64_t>(1, x[1] / offset_group_));
    out.x_image = element_count(x.subspan(1));
    out.offset_image = element_count(offset.subspan(1));
    out.mask_image = offset_group_ * taps * points;
    out.y_image = product_of(w[0], points);
    GemmShape& s = out.product.shape;
    s.rows = narrow(outs);
    s.depth = narrow(depth);
    s.columns = narrow(points);
    s.a_row = s.depth;
    s.b_depth = s.y_row = s.columns;
    s.bias_row = 1;
    s.batches = make_walk(
        Dims{group_},
        {Dims{outs * depth}, Dims{product_of(depth, points)}, Dims{product_of(outs, points)}, Dims{outs}},
        true);
    out.product.beta = p.has_input(3) ? 1.0f : 0.0f;
    const int64_t columns = product_of(narrow(product_of(x[1], taps)), points);
    narrow(columns);
    ops::place_workspace(p, gemm_, static_cast<uint64_t>(std::max<int64_t>(1, columns)) * bytes_,
                         &out.product);
    return out;
  }

  void record(Recorder& ctx, const DeformState& s) const {
    if (ctx.output(0).size() == 0) return;
    const WorkspaceArg columns{0, bytes_};
    const TensorArg nothing{&kNoTensor};
    const int64_t rows = int64_t{s.channels} * s.window.size[1] * s.window.size[2];
    for (int64_t image = 0; image < s.images; ++image) {
      const TensorArg mask = ctx.has_input(4) ? in(ctx.input(4), image * s.mask_image) : nothing;
      launch(ctx, sample_, {static_cast<size_t>(s.product.shape.columns), static_cast<size_t>(rows), 1},
             in(ctx.input(0), image * s.x_image), in(ctx.input(2), image * s.offset_image), mask, columns,
             s.window, s.channels, s.per_group);
      gemm_.record(ctx, s.product, in(ctx.input(1)), columns, in(ctx.input(3)), nothing,
                   out(ctx.output(0), image * s.y_image));
    }
  }

 private:
  WindowAttributes attributes_;
  int64_t group_, offset_group_;
  uint32_t bytes_;
  KernelRef sample_;
  GemmKernels gemm_;
};
TENON_KERNEL(DeformConv, .op_type = "DeformConv", .since = 19,
             .contract =
                 "X: [N, C, H, W]; weights: [M, C/$group, KH, KW]; "
                 "offset: [N, 2*$offset_group*KH*KW, OH, OW]; B?: [M]; "
                 "mask?: [N, $offset_group*KH*KW, OH, OW]")

}  // namespace
}  // namespace tenon::cuda
