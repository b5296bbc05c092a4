// RoiAlign and MaxRoiPool: regions of images, divided into bins.
#include <cmath>

#include "kernels/common/kernel.h"
#include "tenon/ep/device/axes.hpp"

namespace tenon::cuda {
namespace {

// A thread does one bin of one channel. What decides which elements a bin has is computed in double. A region of no image, with a
// corner that is not finite, or of too many samples is reported as an index out of range.
constexpr Source kSource{"roi_pool", R"CU(
struct Pool {
  int regions, images, channels, height, width, bins_y, bins_x;
  int ratio, most_samples, is_average, is_half_pixel;
  float scale;
};
#ifdef ALIGN
// The two neighbours of a place along one axis, and the weight of the second.
struct Pair {
  int low, high;
  C part;
};
__device__ inline Pair pair_of(C v, int size) {
  if (v < 0) v = 0;
  const int low = min((int)v, size - 1), high = min(low + 1, size - 1);
  return {low, high, low == high ? (C)0 : v - (C)low};
}
KERNEL RoiAlign(IN(T, x), IN(G, rois), IN(int64, image_of), OUT(T, y), int* flag, Pool p) {
  const int bins = p.bins_y * p.bins_x;
  EACH_Z(r, p.regions) {
    const int64 given = image_of[r], image = given < 0 ? given + p.images : given;
    if (image < 0 || image >= p.images) {
      flag_index(flag, given, p.images);
      continue;
    }
    const G* roi = rois + r * 4;
    const double shift = p.is_half_pixel ? 0.5 : 0, scale = (double)p.scale;
    const double left = (double)(C_G)roi[0] * scale - shift, top = (double)(C_G)roi[1] * scale - shift;
    double w = (double)(C_G)roi[2] * scale - shift - left, h = (double)(C_G)roi[3] * scale - shift - top;
    if (!p.is_half_pixel) {
      w = w < 1 ? 1 : w;
      h = h < 1 ? 1 : h;
    }
    const double bin_h = h / p.bins_y, bin_w = w / p.bins_x;
    const double wanted_y = p.ratio > 0 ? p.ratio : fmax(ceil(bin_h), 0.0);
    const double wanted_x = p.ratio > 0 ? p.ratio : fmax(ceil(bin_w), 0.0);
    if (!(fabs(w) < 1e9 && fabs(h) < 1e9 && wanted_y * wanted_x <= p.most_samples)) {
      flag_index(flag, r, 0);
      continue;
    }
    const int rows = (int)wanted_y, columns = (int)wanted_x;
    EACH_Y(channel, p.channels) EACH(bin, bins) {
      const T* from = x + (image * p.channels + channel) * p.height * p.width;
      const double begin_y = top + ((int)bin / p.bins_x) * bin_h, begin_x = left + ((int)bin % p.bins_x) * bin_w;
      C sum = 0;
      bool is_first = true;
      const auto take = [&](C v) {
        sum = p.is_average ? sum + v : is_first || v > sum ? v : sum;
        is_first = false;
      };
      for (int iy = 0; iy < rows; ++iy) {
        const C at_y = (C)(begin_y + (iy + 0.5) * bin_h / rows);
        const bool inside_y = at_y >= -1 && at_y <= (C)p.height && p.height > 0;
        for (int ix = 0; ix < columns; ++ix) {
          const C at_x = (C)(begin_x + (ix + 0.5) * bin_w / columns);
          if (!(inside_y && at_x >= -1 && at_x <= (C)p.width && p.width > 0)) {
            take(0);
            continue;
          }
          // Of the weighted neighbours the maximum is taken, not of the interpolated values.
          const Pair a = pair_of(at_y, p.height), b = pair_of(at_x, p.width);
          const T *upper = from + (int64)a.low * p.width, *lower = from + (int64)a.high * p.width;
          take((1 - a.part) * (1 - b.part) * (C)upper[b.low]);
          take((1 - a.part) * b.part * (C)upper[b.high]);
          take(a.part * (1 - b.part) * (C)lower[b.low]);
          take(a.part * b.part * (C)lower[b.high]);
        }
      }
      if (p.is_average) sum /= (C)max(1, rows * columns);
      y[(r * p.channels + channel) * bins + bin] = sum;
    }
  }
}
#else
// The first element of a bin along one axis, or the first after it.
__device__ inline int edge_of(double v, int size) { return v < 0 ? 0 : v > size ? size : (int)v; }
KERNEL MaxRoiPool(IN(T, x), IN(G, rois), OUT(T, y), int* flag, Pool p) {
  const int bins = p.bins_y * p.bins_x;
  EACH_Z(r, p.regions) {
    const G* roi = rois + r * 5;
    const double of_image = (double)(C_G)roi[0], scale = (double)p.scale;
    const double left = (double)(C_G)roi[1], top = (double)(C_G)roi[2];
    const double right = (double)(C_G)roi[3], bottom = (double)(C_G)roi[4];
    if (!(of_image >= 0 && of_image < p.images)) {
      flag_index(flag, of_image < 0 ? (int64)floor(of_image) : (int64)of_image, p.images);
      continue;
    }
    if (!isfinite(left) || !isfinite(top) || !isfinite(right) || !isfinite(bottom)) {
      flag_index(flag, r, 0);
      continue;
    }
    const double low_x = round(left * scale), low_y = round(top * scale);
    const double step_x = fmax(round(right * scale) - low_x + 1, 1.0) / p.bins_x;
    const double step_y = fmax(round(bottom * scale) - low_y + 1, 1.0) / p.bins_y;
    EACH_Y(channel, p.channels) EACH(bin, bins) {
      const T* from = x + ((int64)of_image * p.channels + channel) * p.height * p.width;
      const int by = (int)bin / p.bins_x, bx = (int)bin % p.bins_x;
      const int begin_y = edge_of(floor(by * step_y) + low_y, p.height);
      const int end_y = edge_of(ceil((by + 1) * step_y) + low_y, p.height);
      const int begin_x = edge_of(floor(bx * step_x) + low_x, p.width);
      const int end_x = edge_of(ceil((bx + 1) * step_x) + low_x, p.width);
      C best = 0;
      bool is_first = true;
      for (int h = begin_y; h < end_y; ++h)
        for (int w = begin_x; w < end_x; ++w) {
          const C v = from[(int64)h * p.width + w];
          best = is_first || v > best ? v : best;
          is_first = false;
        }
      y[(r * p.channels + channel) * bins + bin] = best;
    }
  }
}
#endif
)CU"};
using Kernels = Backend<kSource>;

constexpr int64_t kMostBins = int64_t{1} << 26;
constexpr int32_t kMostSamples = 1 << 20;  // of a bin: a thread takes them one after the other

/// Declared alike in the text.
struct Pool {
  int32_t regions = 0, images = 0, channels = 0, height = 0, width = 0, bins_y = 1, bins_x = 1;
  int32_t ratio = 0, most_samples = kMostSamples, is_average = 0, is_half_pixel = 0;
  float scale = 1;
};

Settings settings_of(const NodeView& n) {
  return {computes_in(n.input(0).dtype()), computes_in(n.input(1).dtype(), "G")};
}

/// Adds the shapes to the attributes, and sets output 0.
Pool with_shapes(PrepareContext& p, Pool pool) {
  const DimsView x = p.input(0).dims();
  pool.regions = narrow(p.input(1).dim(0));
  pool.images = narrow(x[0]);
  pool.channels = narrow(x[1]);
  pool.height = narrow(x[2]);
  pool.width = narrow(x[3]);
  p.set_output(0, Dims{pool.regions, pool.channels, pool.bins_y, pool.bins_x});
  return pool;
}

Size3 items_of(const Pool& pool) {
  return {static_cast<size_t>(pool.bins_y) * static_cast<size_t>(pool.bins_x),
          static_cast<size_t>(pool.channels), static_cast<size_t>(pool.regions)};
}

/// The attributes of a pooled region of `height` by `width` bins.
Pool pool_of(int64_t height, int64_t width, float scale) {
  require(height > 0 && width > 0, TENON_INVALID_ARGUMENT, "the output is ", height, " by ", width);
  require(height <= kMostBins / width, TENON_RESOURCE_EXHAUSTED, "the output is ", height, " by ", width);
  Pool out;
  out.bins_y = narrow(height);
  out.bins_x = narrow(width);
  out.scale = scale;
  return out;
}

/// X [N, C, H, W], regions [R, 4] as (x1, y1, x2, y2), and the image of each region.
class RoiAlign {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kDeviceRealTypes)
        .input(1, kDeviceRealTypes)
        .input(2, TypeList<int64_t>())
        .attr_is("mode", {"avg", "max"})
        .attr_is("coordinate_transformation_mode", {"half_pixel", "output_half_pixel"});
  }
  explicit RoiAlign(const NodeView& n)
      : pool_(pool_of(n.attr_i("output_height", 1), n.attr_i("output_width", 1),
                      n.attr_f("spatial_scale", 1))) {
    const int64_t ratio = n.attr_i("sampling_ratio", 0);
    require(ratio <= kMostSamples && ratio * ratio <= kMostSamples, TENON_RESOURCE_EXHAUSTED,
            "sampling_ratio is ", ratio, ": that is too many samples");
    pool_.ratio = static_cast<int32_t>(std::max<int64_t>(0, ratio));
    pool_.is_average = n.attr_s("mode", "avg") == "avg";
    const char* usual = n.since_version() < 16 ? "output_half_pixel" : "half_pixel";
    pool_.is_half_pixel = n.attr_s("coordinate_transformation_mode", usual) == "half_pixel";
    Settings settings = settings_of(n);
    settings.push_back(number("ALIGN", 1));
    kernel_ = Kernels::load(n, "RoiAlign", settings);
  }
  Pool prepare(PrepareContext& p) const { return with_shapes(p, pool_); }
  void record(Recorder& ctx, const Pool& pool) const {
    launch(ctx, kernel_, items_of(pool), in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)),
           out(ctx.output(0)), FlagArg{}, pool);
  }

 private:
  Pool pool_;
  KernelRef kernel_;
};
TENON_KERNEL(RoiAlign, .op_type = "RoiAlign", .since = 10,
             .contract = "X: [N, C, H, W]; rois: [R, 4]; batch_indices: [R] @index")

/// X [N, C, H, W], regions [R, 5] of (image, x1, y1, x2, y2), rounded to whole elements.
class MaxRoiPool {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kDeviceRealTypes).input(1, kDeviceRealTypes);
  }
  explicit MaxRoiPool(const NodeView& n) : kernel_(Kernels::load(n, "MaxRoiPool", settings_of(n))) {
    const Dims shape = n.attr_ints("pooled_shape");
    require(shape.size() == 2, TENON_INVALID_ARGUMENT, "pooled_shape is ", shape);
    pool_ = pool_of(shape[0], shape[1], n.attr_f("spatial_scale", 1));
  }
  Pool prepare(PrepareContext& p) const { return with_shapes(p, pool_); }
  void record(Recorder& ctx, const Pool& pool) const {
    launch(ctx, kernel_, items_of(pool), in(ctx.input(0)), in(ctx.input(1)), out(ctx.output(0)), FlagArg{},
           pool);
  }

 private:
  Pool pool_;
  KernelRef kernel_;
};
TENON_KERNEL(MaxRoiPool, .op_type = "MaxRoiPool", .contract = "X: [N, C, H, W]; rois: [R, 5] @index")

}  // namespace
}  // namespace tenon::cuda
