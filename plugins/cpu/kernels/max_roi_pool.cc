#include <cmath>

#include "kernels/common/lines.h"

namespace tenon::cpu {
namespace {

// X [N, C, H, W], regions [R, 5] of (image, x1, y1, x2, y2), rounded to whole elements.
class MaxRoiPool {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloatTypes).input(1, kFloatTypes); }
  explicit MaxRoiPool(const NodeView& n)
      : shape_(n.attr_ints("pooled_shape")), scale_(static_cast<double>(n.attr_f("spatial_scale", 1.0f))) {
    require(shape_.size() == 2 && shape_[0] > 0 && shape_[1] > 0, TENON_INVALID_ARGUMENT, "pooled_shape is ",
            DimsView(shape_));
    require(shape_[0] <= kMostBins / shape_[1], TENON_RESOURCE_EXHAUSTED, "pooled_shape ", DimsView(shape_),
            " has more than ", kMostBins, " bins");
  }

  void prepare(PrepareContext& p) const {
    p.set_output(0, Dims{p.input(1).dim(0), p.input(0).dim(1), shape_[0], shape_[1]});
  }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    const std::span<const double> rois = as_doubles(ctx, ctx.input(1));
    const int64_t channels = x.dim(1), bins = shape_[0] * shape_[1];
    dispatch(kFloatTypes, x.dtype(), [&]<class T>() {
      T* out = ctx.output(0).template data<T>();
      ctx.parallel_for(ctx.input(1).dim(0), 1, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const double* roi = rois.data() + r * 5;
          require(roi[0] >= 0 && roi[0] < static_cast<double>(x.dim(0)), TENON_OUT_OF_RANGE, "region ", r,
                  " is of image ", roi[0], " of ", x.dim(0));
          for (int k = 1; k < 5; ++k)
            require(std::isfinite(roi[k]), TENON_INVALID_ARGUMENT, "a corner of region ", r, " is ", roi[k]);
          for (int64_t c = 0; c < channels; ++c) {
            ctx.check_cancelled();
            pool<T>(x, static_cast<int64_t>(roi[0]) * channels + c, roi + 1, out + (r * channels + c) * bins);
          }
        }
      });
    });
  }

 private:
  static constexpr int64_t kMostBins = int64_t{1} << 40;
  struct Span {
    int64_t begin, end;
  };
  /// The elements of bin `i` of `n` between two corners of a region, along one dim.
  Span bin_span(double first, double last, int64_t i, int64_t n, int64_t size) const {
    const double low = std::round(first * scale_), high = std::round(last * scale_);
    const double length = std::max(high - low + 1, 1.0), step = length / static_cast<double>(n);
    const double begin = std::floor(static_cast<double>(i) * step) + low,
                 end = std::ceil(static_cast<double>(i + 1) * step) + low;
    const auto limit = static_cast<double>(size);
    return {static_cast<int64_t>(std::clamp(begin, 0.0, limit)),
            static_cast<int64_t>(std::clamp(end, 0.0, limit))};
  }

  template <class T>
  void pool(TensorView x, int64_t plane, const double* roi, T* out) const {
    const int64_t height = x.dim(2), width = x.dim(3);
    const T* in = x.data<T>() + plane * height * width;
    for (int64_t ph = 0; ph < shape_[0]; ++ph)
      for (int64_t pw = 0; pw < shape_[1]; ++pw, ++out) {
        const Span rows = bin_span(roi[1], roi[3], ph, shape_[0], height),
                   columns = bin_span(roi[0], roi[2], pw, shape_[1], width);
        bool any = false;
        Compute<T> best = 0;
        for (int64_t h = rows.begin; h < rows.end; ++h)
          for (int64_t w = columns.begin; w < columns.end; ++w) {
            const auto value = static_cast<Compute<T>>(in[h * width + w]);
            best = any ? std::max(best, value) : value;
            any = true;
          }
        *out = static_cast<T>(best);
      }
  }

  Dims shape_;
  double scale_;
};
TENON_KERNEL(MaxRoiPool, .op_type = "MaxRoiPool", .contract = "X: [N, C, H, W]; rois: [R, 5] @index")

}  // namespace
}  // namespace tenon::cpu
