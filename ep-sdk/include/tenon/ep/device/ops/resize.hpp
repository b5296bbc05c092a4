// Resize and Upsample, nearest neighbour and linear, for any rank.
//
// Kernels Nearest, which moves elements, and Linear, which computes with them: (x, y, axes, n, low, high), a work-item for each element
// of y. low and high are the bits of what an element beyond x is: of an element for Nearest, of a float for Linear.
#ifndef TENON_EP_DEVICE_OPS_RESIZE_HPP_
#define TENON_EP_DEVICE_OPS_RESIZE_HPP_

#include <cmath>

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/bits.hpp"
#include "tenon/ep/device/launch.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

/// For each axis of y: its size, the size and stride of that of x, how a position in x is rounded, and where it is:
/// (place + add) * multiply / divide + offset, or just the place if `whole`.
struct ResizeAxes {
  int32_t rank, clips, zero[2];
  int32_t rounding[kMaxWalkRank];
  int32_t out[kMaxWalkRank], in[kMaxWalkRank], stride[kMaxWalkRank], whole[kMaxWalkRank];
  float add[kMaxWalkRank], multiply[kMaxWalkRank], divide[kMaxWalkRank], offset[kMaxWalkRank];
};
inline constexpr int32_t kResizeCeil = 3;
/// Of nearest_mode; their positions are the numbers that kernels get.
inline constexpr std::string_view kResizeRoundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                                        "ceil"};

/// How the output positions of one axis map to positions in x.
struct ResizeAxis {
  int64_t in = 1, out = 1;
  float scale = 1, start = 0, end = 1;
  float length = 1;  // the `length_resized` of ONNX's formulas: `out` before it was rounded to a whole number
  bool named = false;  // otherwise the axis is unchanged
};

inline void place_axis(const std::string& way, const ResizeAxis& a, size_t d, ResizeAxes* to) {
  const auto in = static_cast<float>(a.in), out = static_cast<float>(a.out);
  float add = 0, multiply = 1, divide = a.scale, offset = 0;
  if (way == "half_pixel" || way == "half_pixel_symmetric" || (way == "pytorch_half_pixel" && a.length > 1)) {
    add = 0.5f;
    offset = -0.5f;
    if (way == "half_pixel_symmetric") offset += in / 2 * (1 - out / a.length);
  } else if (way == "pytorch_half_pixel") {
    multiply = 0;
  } else if (way == "align_corners") {
    multiply = a.out > 1 ? in - 1 : 0;
    divide = a.out > 1 ? a.length - 1 : 1;
  } else if (way == "tf_crop_and_resize") {
    const bool several = a.length > 1;
    multiply = several ? (a.end - a.start) * (in - 1) : 0;
    divide = several ? a.length - 1 : 1;
    offset = several ? a.start * (in - 1) : 0.5f * (a.start + a.end) * (in - 1);
  }
  to->add[d] = add;
  to->multiply[d] = multiply;
  to->divide[d] = divide;
  to->offset[d] = offset;
  to->whole[d] = a.in == a.out && a.scale == 1 && way != "tf_crop_and_resize";
}

inline std::vector<float> floats_of(const TensorView& tensor) {
  if (!tensor.present() || tensor.size() == 0) return {};
  require(tensor.dtype() == TENON_FLOAT32, TENON_UNIMPLEMENTED, "scales or roi in ",
          dtype_name(tensor.dtype()));
  return {tensor.data<float>(), tensor.data<float>() + tensor.size()};
}

template <class B>
class Resize {
 public:
  static std::vector<int> shape_inputs(const NodeView& n) {
    return n.since_version() == 10 || n.op() == "Upsample" ? std::vector<int>{1} : std::vector<int>{1, 2, 3};
  }
  static Support supports(const NodeView& n) {
    const bool linear = n.attr_s("mode", "nearest") != "nearest";
    Check check(n);
    check.rank(0, 1, kMaxWalkRank)
        .attr_is("mode", {"nearest", "linear", "bilinear"})
        .attr_is("coordinate_transformation_mode",
                 {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                  "tf_crop_and_resize"})
        .attr_is("keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"})
        .attr_is("antialias", {0})
        .attr_is("exclude_outside", {0});
    return linear ? check.input(0, kDeviceRealTypes) : check.input(0, kDeviceTypes);
  }
  explicit Resize(const NodeView& n)
      : is_old_(n.since_version() <= 10),
        is_linear_(n.attr_s("mode", "nearest") != "nearest"),
        way_(is_old_ ? "asymmetric" : n.attr_s("coordinate_transformation_mode", "half_pixel")),
        beyond_(n.attr_f("extrapolation_value", 0)),
        attribute_scales_(n.attr_floats("scales")),
        axes_(n.attr_ints("axes")),
        has_axes_(n.has_attr("axes")),
        policy_(n.attr_s("keep_aspect_ratio_policy", "stretch")) {
    const uint32_t dtype = n.input(0).dtype();
    const std::string rounding = is_old_ ? "floor" : n.attr_s("nearest_mode", "round_prefer_floor");
    rounding_ =
        static_cast<int32_t>(std::find(std::begin(kResizeRoundings), std::end(kResizeRoundings), rounding) -
                             std::begin(kResizeRoundings));
    require(rounding_ < 4, TENON_INVALID_ARGUMENT, "nearest_mode is '", rounding, "'");
    kernel_ = is_linear_ ? B::load(n, "Linear", {computes_in(dtype)}) : B::load(n, "Nearest", {moves(dtype)});
  }

  ResizeAxes prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    require(x.size() <= kMaxWalkRank, TENON_INVALID_ARGUMENT, "rank ", x.size(),
            " is not supported; the limit is ", kMaxWalkRank);
    const std::vector<ResizeAxis> axes = resolve(p);
    Dims y;
    for (const ResizeAxis& axis : axes) y.push_back(axis.out);
    require(element_count(y) < kMostElements, TENON_RESOURCE_EXHAUSTED, "the output would have the shape ",
            y);
    p.set_output(0, y);
    narrow(element_count(y));

    ResizeAxes out{};
    out.rank = narrow(static_cast<int64_t>(x.size()));
    out.clips = way_ == "tf_crop_and_resize";
    const Dims strides = dense_strides(x);
    for (size_t d = 0; d < x.size(); ++d) {
      out.in[d] = narrow(x[d]);
      out.out[d] = narrow(y[d]);
      out.stride[d] = narrow(strides[d]);
      out.whole[d] = 1;
      if (!axes[d].named) continue;
      place_axis(way_, axes[d], d, &out);
      out.rounding[d] = is_old_ && axes[d].scale < 1 ? kResizeCeil : rounding_;
    }
    return out;
  }
  void record(typename B::Recorder& ctx, const ResizeAxes& axes) const {
    const int64_t n = ctx.output(0).size();
    const ElementBits beyond = is_linear_ ? bits_of<float>(beyond_) : beyond_as(ctx.input(0).dtype());
    launch(ctx, kernel_, items_of(n), in(ctx.input(0)), out(ctx.output(0)), axes, narrow(n), beyond.low,
           beyond.high);
  }

 private:
  static constexpr int64_t kMostElements = int64_t{1} << 48;

  /// All axes of x, with scales, sizes and roi applied to the named ones.
  std::vector<ResizeAxis> resolve(const PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    std::vector<ResizeAxis> axes;
    for (const int64_t dim : x) axes.push_back({dim, dim});
    std::vector<size_t> named = checked_axes(axes_, x.size());
    for (size_t d = 0; d < x.size() && !has_axes_; ++d) named.push_back(d);
    for (const size_t d : named) axes[d].named = true;
    if (way_ == "tf_crop_and_resize") read_roi(floats_of(p.input(1)), named, axes);
    const int scales_at = is_old_ ? 1 : 2;
    const bool by_size = !is_old_ && p.has_input(3) && p.input(3).size() > 0;
    const bool by_scale =
        !attribute_scales_.empty() || (p.has_input(scales_at) && p.input(scales_at).size() > 0);
    require(by_size != by_scale, TENON_INVALID_ARGUMENT, "either scales or sizes must be given");
    if (by_size)
      read_sizes(p.input(3).to_dims(), named, axes);
    else
      read_scales(attribute_scales_.empty() ? floats_of(p.input(scales_at)) : attribute_scales_, named, axes);
    for (const ResizeAxis& axis : axes)
      require(axis.out >= 0 && (axis.in > 0 || axis.out == 0), TENON_INVALID_ARGUMENT, "an axis of ", axis.in,
              " elements cannot be resized to ", axis.out, " elements");
    return axes;
  }

  static void read_roi(const std::vector<float>& roi, const std::vector<size_t>& named,
                       std::vector<ResizeAxis>& axes) {
    require(roi.size() == 2 * named.size(), TENON_INVALID_ARGUMENT, "roi must have ", 2 * named.size(),
            " elements");
    for (size_t i = 0; i < named.size(); ++i) {
      axes[named[i]].start = roi[i];
      axes[named[i]].end = roi[i + named.size()];
    }
  }

  static void read_scales(const std::vector<float>& scales, const std::vector<size_t>& named,
                          std::vector<ResizeAxis>& axes) {
    require(scales.size() == named.size(), TENON_INVALID_ARGUMENT, scales.size(), " scales for ",
            named.size(), " axes");
    for (size_t i = 0; i < named.size(); ++i) {
      ResizeAxis& axis = axes[named[i]];
      axis.scale = scales[i];
      require(axis.scale > 0, TENON_INVALID_ARGUMENT, "scale ", axis.scale, " is not positive");
      // In float, like the host's inference.
      axis.length = static_cast<float>(axis.in) * axis.scale;
      require(axis.length < 1e12f, TENON_RESOURCE_EXHAUSTED, "scale ", axis.scale, " is too large");
      axis.out = static_cast<int64_t>(std::floor(axis.length));
    }
  }

  void read_sizes(const Dims& sizes, const std::vector<size_t>& named, std::vector<ResizeAxis>& axes) const {
    require(sizes.size() == named.size(), TENON_INVALID_ARGUMENT, sizes.size(), " sizes for ", named.size(),
            " axes");
    double best = 0;  // one scale for all axes if the ratio is kept
    for (size_t i = 0; i < named.size(); ++i) {
      ResizeAxis& axis = axes[named[i]];
      require(sizes[i] < kMostElements, TENON_RESOURCE_EXHAUSTED, "size ", sizes[i], " is too large");
      require(axis.in > 0 || sizes[i] == 0, TENON_INVALID_ARGUMENT,
              "an axis without elements cannot be resized to ", sizes[i], " elements");
      axis.out = sizes[i];
      axis.length = static_cast<float>(sizes[i]);
      axis.scale = static_cast<float>(axis.out) / static_cast<float>(std::max<int64_t>(1, axis.in));
      const double scale = static_cast<double>(sizes[i]) / static_cast<double>(std::max<int64_t>(1, axis.in));
      best = i == 0 ? scale : policy_ == "not_larger" ? std::min(best, scale) : std::max(best, scale);
    }
    if (policy_ == "stretch") return;
    for (const size_t d : named) {
      if (axes[d].in == 0) continue;
      const double length = best * static_cast<double>(axes[d].in);
      axes[d].out = static_cast<int64_t>(std::floor(length + 0.5));
      axes[d].length = static_cast<float>(length);
      axes[d].scale = static_cast<float>(best);
    }
  }

  ElementBits beyond_as(uint32_t dtype) const {
    ElementBits bits{};
    dispatch(kDeviceTypes, dtype, [&]<class T>() { bits = bits_of(static_cast<T>(beyond_)); });
    return bits;
  }

  bool is_old_, is_linear_;
  std::string way_;
  float beyond_;
  std::vector<float> attribute_scales_;
  std::vector<int64_t> axes_;
  bool has_axes_;
  std::string policy_;
  int32_t rounding_ = 0;
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_RESIZE_HPP_
