#include <cmath>

#include "kernels/common/indices.h"
#include "kernels/common/lines.h"

namespace tenon::cpu {
namespace {

/// Four neighbours in a plane, and their weights.
struct Corner {
  std::array<int64_t, 4> at{};
  std::array<double, 4> weight{};
};

/// Bilinear. More than one element outside the plane all weights are zero.
Corner corner_of(double y, double x, int64_t height, int64_t width) {
  Corner out;
  if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width)))
    return out;
  const auto split = [](double& v, int64_t size, int64_t* low, int64_t* high) {
    v = std::max(v, 0.0);
    *low = std::min(static_cast<int64_t>(v), size - 1);
    *high = std::min(*low + 1, size - 1);
    if (*low == *high) v = static_cast<double>(*low);
  };
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  split(y, height, &top, &bottom);
  split(x, width, &left, &right);
  const double dy = y - static_cast<double>(top), dx = x - static_cast<double>(left);
  out.at = {top * width + left, top * width + right, bottom * width + left, bottom * width + right};
  out.weight = {(1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx};
  return out;
}

// X [N, C, H, W], regions [R, 4] as (x1, y1, x2, y2), and the image index of each region.
class RoiAlign {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kFloatTypes)
        .input(1, kFloatTypes)
        .input(2, TypeList<int64_t>())
        .attr_is("mode", {"avg", "max"})
        .attr_is("coordinate_transformation_mode", {"half_pixel", "output_half_pixel"});
  }
  explicit RoiAlign(const NodeView& n)
      : height_(n.attr_i("output_height", 1)),
        width_(n.attr_i("output_width", 1)),
        ratio_(n.attr_i("sampling_ratio", 0)),
        scale_(static_cast<double>(n.attr_f("spatial_scale", 1.0f))),
        average_(n.attr_s("mode", "avg") == "avg"),
        half_pixel_(n.attr_s("coordinate_transformation_mode",
                             n.since_version() < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel") {
    require(height_ > 0 && width_ > 0, TENON_INVALID_ARGUMENT, "the output is ", height_, " by ", width_);
    require(height_ <= kMostSamples / width_, TENON_RESOURCE_EXHAUSTED, "the output is ", height_, " by ",
            width_);
    require(ratio_ <= kMostSamples, TENON_RESOURCE_EXHAUSTED, "sampling_ratio is ", ratio_);
  }

  void prepare(PrepareContext& p) const {
    p.set_output(0, Dims{p.input(1).dim(0), p.input(0).dim(1), height_, width_});
  }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    const std::span<const double> rois = as_doubles(ctx, ctx.input(1));
    const DimsView images = checked_indices(ctx, ctx.input(2), x.dim(0));
    int64_t most = 0;
    for (size_t r = 0; r < images.size(); ++r) most = std::max(most, grid_of(rois.data() + r * 4).samples());
    const WorkerLists<Corner> corners(ctx, most * height_ * width_);
    dispatch(kFloatTypes, x.dtype(), [&]<class T>() {
      ctx.parallel_for(
          static_cast<int64_t>(images.size()), 1, [&](uint32_t worker, int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r)
              pool<T>(ctx, r, images[static_cast<size_t>(r)], rois.data() + r * 4, corners.of(worker));
          });
    });
  }

 private:
  static constexpr int64_t kMostSamples = int64_t{1} << 26;  // per region

  struct Grid {
    double top = 0, left = 0, bin_height = 0, bin_width = 0;
    int64_t rows = 1, columns = 1;  // samples per bin
    int64_t samples() const { return rows * columns; }
  };

  Grid grid_of(const double* roi) const {
    const double shift = half_pixel_ ? 0.5 : 0;
    const double left = roi[0] * scale_ - shift, top = roi[1] * scale_ - shift;
    double w = roi[2] * scale_ - shift - left, h = roi[3] * scale_ - shift - top;
    if (!half_pixel_) w = std::max(w, 1.0), h = std::max(h, 1.0);
    require(std::fabs(w) < 1e9 && std::fabs(h) < 1e9, TENON_INVALID_ARGUMENT, "a region is ", w, " by ", h);
    Grid grid{top, left, h / static_cast<double>(height_), w / static_cast<double>(width_), ratio_, ratio_};
    if (ratio_ <= 0) {
      grid.rows = std::max<int64_t>(0, static_cast<int64_t>(std::ceil(grid.bin_height)));
      grid.columns = std::max<int64_t>(0, static_cast<int64_t>(std::ceil(grid.bin_width)));
    }
    const int64_t most = kMostSamples / (height_ * width_);  // per bin
    require(grid.rows <= most && grid.columns <= most && grid.samples() <= most, TENON_RESOURCE_EXHAUSTED,
            "a region of ", w, " by ", h, " elements needs too many samples");
    return grid;
  }
  /// Computes the corners of all samples, bin by bin.
  void lay_out(const Grid& grid, int64_t height, int64_t width, Corner* out) const {
    for (int64_t bin = 0; bin < height_ * width_; ++bin)
      for (int64_t iy = 0; iy < grid.rows; ++iy)
        for (int64_t ix = 0; ix < grid.columns; ++ix)
          *out++ =
              corner_of(sample_at(grid.top, bin / width_, grid.bin_height, iy, grid.rows),
                        sample_at(grid.left, bin % width_, grid.bin_width, ix, grid.columns), height, width);
  }
  static double sample_at(double begin, int64_t bin, double size, int64_t i, int64_t n) {
    return begin + static_cast<double>(bin) * size +
           (static_cast<double>(i) + 0.5) * size / static_cast<double>(n);
  }

  template <class T>
  void pool(const Context& ctx, int64_t region, int64_t image, const double* roi,
            std::span<Corner> room) const {
    const TensorView x = ctx.input(0);
    const int64_t channels = x.dim(1), plane = x.dim(2) * x.dim(3), bins = height_ * width_;
    T* out = ctx.output(0).template data<T>() + region * channels * bins;
    if (plane == 0) {
      std::fill_n(out, channels * bins, T());
      return;
    }
    const Grid grid = grid_of(roi);
    lay_out(grid, x.dim(2), x.dim(3), room.data());
    const auto samples = static_cast<size_t>(grid.samples());
    const T* in = x.data<T>() + image * channels * plane;
    CancelPoint point(ctx);
    for (int64_t c = 0; c < channels; ++c, in += plane)
      for (int64_t bin = 0; bin < bins; ++bin) {
        point.pass(grid.samples());
        const std::span<const Corner> corners = room.subspan(static_cast<size_t>(bin) * samples, samples);
        *out++ = static_cast<T>(average_ ? mean(in, corners) : largest(in, corners));
      }
  }
  template <class T>
  static double mean(const T* in, std::span<const Corner> corners) {
    double sum = 0;
    for (const Corner& c : corners)
      for (size_t k = 0; k < 4; ++k)
        sum += c.weight[k] * static_cast<double>(static_cast<Compute<T>>(in[c.at[k]]));
    return sum / static_cast<double>(std::max<size_t>(1, corners.size()));
  }
  /// The maximum of the weighted neighbours, not of the interpolated values, as ONNX's tests define it.
  template <class T>
  static double largest(const T* in, std::span<const Corner> corners) {
    double out = 0;
    bool first = true;
    for (const Corner& c : corners)
      for (size_t k = 0; k < 4; ++k) {
        const double value = c.weight[k] * static_cast<double>(static_cast<Compute<T>>(in[c.at[k]]));
        out = first ? value : std::max(out, value);
        first = false;
      }
    return out;
  }

  int64_t height_, width_, ratio_;
  double scale_;
  bool average_, half_pixel_;
};
TENON_KERNEL(RoiAlign, .op_type = "RoiAlign", .since = 10,
             .contract = "X: [N, C, H, W]; rois: [R, 4]; batch_indices: [R] @index")

}  // namespace
}  // namespace tenon::cpu
