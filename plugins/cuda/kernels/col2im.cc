// Col2Im: adds blocks back where a sliding window took them.
#include "kernels/common/kernel.h"
#include "kernels/common/texts.h"
#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/window.hpp"

namespace tenon::cuda {
namespace {

// x is [planes, taps, windows], y is [planes, image]. Each output element looks for the windows that took it: each tap has at
// most one.
constexpr std::string_view kText = R"CU(
// The place along one axis of the window whose tap `k` took element `at`, or -1.
__device__ inline int window_of(const Window& w, int axis, int at, int k) {
  const int64 from = (int64)at + w.pad[axis] - (int64)k * w.dilation[axis];
  if (from < 0 || from % w.stride[axis] != 0) return -1;
  const int64 place = from / w.stride[axis];
  return place < w.out[axis] ? (int)place : -1;
}
KERNEL Col2Im(IN(T, x), OUT(T, y), Window w, int planes, int image) {
  const int64 windows = (int64)w.out[0] * w.out[1] * w.out[2];
  const int64 taps = (int64)w.size[0] * w.size[1] * w.size[2];
  EACH_Y(plane, planes) EACH(i, image) {
    const int rest = (int)i / w.in[2], at2 = (int)i - rest * w.in[2], at0 = rest / w.in[1], at1 = rest - at0 * w.in[1];
    const T* from = x + plane * taps * windows;
    C sum = 0;
    for (int k0 = 0; k0 < w.size[0]; ++k0) {
      const int o0 = window_of(w, 0, at0, k0);
      if (o0 < 0) continue;
      for (int k1 = 0; k1 < w.size[1]; ++k1) {
        const int o1 = window_of(w, 1, at1, k1);
        if (o1 < 0) continue;
        for (int k2 = 0; k2 < w.size[2]; ++k2) {
          const int o2 = window_of(w, 2, at2, k2);
          if (o2 < 0) continue;
          const int64 tap = ((int64)k0 * w.size[1] + k1) * w.size[2] + k2;
          sum = plus(sum, (C)from[tap * windows + ((int64)o0 * w.out[1] + o1) * w.out[2] + o2]);
        }
      }
    }
    y[plane * image + i] = sum;
  }
}
)CU";
constexpr Source kSource{"col2im", kJoined<kWrapping, kText>};
using Kernels = Backend<kSource>;

constexpr int64_t kMostAxes = 3;

struct FoldState {
  Window window;
  int32_t planes, image;
};

class Col2Im {
 public:
  static constexpr int shape_inputs[] = {1, 2};
  static Support supports(const NodeView& n) {
    const ValueView image = n.input(1);
    const bool is_known = image.has_rank() && image.rank() == 1 && image.dim(0) != TENON_DIM_UNKNOWN;
    return Check(n)
        .input(0, kDeviceRealTypes + kIntTypes)
        .rank(0, 3, 3)
        .that(!is_known || image.dim(0) <= kMostAxes, TENON_REJECT_SHAPE, "more than ", kMostAxes,
              " spatial axes are not supported");
  }
  explicit Col2Im(const NodeView& n)
      : attributes_(n), kernel_(Kernels::load(n, "Col2Im", {computes_in(n.input(0).dtype())})) {}
  FoldState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const Dims image = p.input(1).to_dims(), block = p.input(2).to_dims();
    require(!image.empty() && image.size() <= kMostAxes, TENON_INVALID_ARGUMENT, "image_shape is ", image,
            "; 1 to ", kMostAxes, " axes are supported");
    require(std::all_of(image.begin(), image.end(), [](int64_t d) { return d >= 0; }), TENON_INVALID_ARGUMENT,
            "image_shape is ", image);
    const Dims places = attributes_.output(image, block);
    const int64_t taps = element_count(block), windows = element_count(places);
    require(x[1] % taps == 0 && x[2] == windows, TENON_INVALID_ARGUMENT, "input ", x, " for ", windows,
            " windows of ", taps, " elements");
    Dims dims{x[0], x[1] / taps};
    dims.insert(dims.end(), image.begin(), image.end());
    p.set_output(0, dims);
    narrow(element_count(dims));
    return {attributes_.window(image, places, block), narrow(product_of(x[0], x[1] / taps)),
            narrow(element_count(image))};
  }
  void record(Recorder& ctx, const FoldState& s) const {
    launch(ctx, kernel_, {static_cast<size_t>(s.image), static_cast<size_t>(s.planes), 1}, in(ctx.input(0)),
           out(ctx.output(0)), s.window, s.planes, s.image);
  }

 private:
  WindowAttributes attributes_;
  KernelRef kernel_;
};
TENON_KERNEL(Col2Im, .op_type = "Col2Im", .since = 18,
             .contract = "input: rank 3; image_shape: [R] @size; block_shape: [R] @size")

}  // namespace
}  // namespace tenon::cuda
