// Resize and Upsample, nearest neighbour and linear, for any rank.
#include <cmath>

#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

// Per axis, the position in x is (position + add) * multiply / divide + offset.
constexpr std::string_view kText = R"CL(
typedef struct {
  int rank;
  int clips;
  int zero[2];
  int rounding[8];
  int out[8];
  int in[8];
  int stride[8];
  int whole[8];
  float add[8];
  float multiply[8];
  float divide[8];
  float offset[8];
} Axes;
#define SOURCE(a, d, at) (a.whole[d] ? (float)(at) : ((float)(at) + a.add[d]) * a.multiply[d] / a.divide[d] + a.offset[d])
__kernel void Nearest(IN(M, x), OUT(M, y), Axes a, int n, ulong beyond) {
  const int i = get_global_id(0);
  if (i >= n) return;
  int from = 0;
  bool inside = true;
  for (int d = a.rank - 1, r = i; d >= 0; --d) {
    const int q = r / a.out[d];
    const float s = SOURCE(a, d, r - q * a.out[d]);
    r = q;
    if (a.clips && (s < 0 || s > a.in[d] - 1)) inside = false;
    const float v = a.rounding[d] == 0 ? ceil(s - 0.5f) : a.rounding[d] == 1 ? floor(s + 0.5f) : a.rounding[d] == 2 ? floor(s) : ceil(s);
    from += clamp((int)v, 0, a.in[d] - 1) * a.stride[d];
  }
  PTR(y)[i] = inside ? PTR(x)[from] : (M)beyond;
}
#ifdef T
__kernel void Linear(IN(T, x), OUT(T, y), Axes a, int n, float beyond) {
  const int i = get_global_id(0);
  if (i >= n) return;
  int base = 0, axes = 0, step[8];
  float part[8];
  bool inside = true;
  for (int d = a.rank - 1, r = i; d >= 0; --d) {
    const int q = r / a.out[d];
    const float s = SOURCE(a, d, r - q * a.out[d]);
    r = q;
    if (a.clips && (s < 0 || s > a.in[d] - 1)) inside = false;
    const float low = clamp(floor(s), 0.0f, (float)(a.in[d] - 1));
    base += (int)low * a.stride[d];
    if (a.whole[d]) continue;
    part[axes] = clamp(s - low, 0.0f, 1.0f);
    step[axes++] = (int)low + 1 < a.in[d] ? a.stride[d] : 0;
  }
  C sum = 0;
  for (int corner = 0; corner < 1 << axes; ++corner) {
    C weight = 1;
    int at = base;
    for (int k = 0; k < axes; ++k) {
      const bool high = corner >> k & 1;
      weight *= high ? part[k] : 1 - part[k];
      at += high ? step[k] : 0;
    }
    if (weight != 0) sum += weight * LOAD(PTR(x), at);
  }
  STORE(PTR(y), i, inside ? sum : (C)beyond);
}
#endif
)CL";

struct Axes {
  cl_int rank, clips, zero[2];
  cl_int rounding[kMaxWalkRank];
  cl_int out[kMaxWalkRank], in[kMaxWalkRank], stride[kMaxWalkRank], whole[kMaxWalkRank];
  cl_float add[kMaxWalkRank], multiply[kMaxWalkRank], divide[kMaxWalkRank], offset[kMaxWalkRank];
};
constexpr Source kSource{"resize", kText, "Axes", sizeof(Axes)};

constexpr cl_int kCeil = 3;
constexpr std::string_view kRoundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

/// How the output positions of one axis map to positions in x.
struct Axis {
  int64_t in = 1, out = 1;
  float scale = 1, start = 0, end = 1;
  bool named = false;  // otherwise the axis is unchanged
};

void place(const std::string& way, const Axis& a, size_t d, Axes* to) {
  const auto in = static_cast<float>(a.in), out = static_cast<float>(a.out);
  float add = 0, multiply = 1, divide = a.scale, offset = 0;
  if (way == "half_pixel" || way == "half_pixel_symmetric" || (way == "pytorch_half_pixel" && a.out > 1)) {
    add = 0.5f;
    offset = -0.5f;
    if (way == "half_pixel_symmetric") offset += in / 2 * (1 - out / (in * a.scale));
  } else if (way == "pytorch_half_pixel") {
    multiply = 0;
  } else if (way == "align_corners") {
    const float length = in * a.scale;
    multiply = a.out > 1 ? in - 1 : 0;
    divide = a.out > 1 ? length - 1 : 1;
  } else if (way == "tf_crop_and_resize") {
    multiply = a.out > 1 ? (a.end - a.start) * (in - 1) : 0;
    divide = a.out > 1 ? out - 1 : 1;
    offset = a.out > 1 ? a.start * (in - 1) : 0.5f * (a.start + a.end) * (in - 1);
  }
  to->add[d] = add;
  to->multiply[d] = multiply;
  to->divide[d] = divide;
  to->offset[d] = offset;
  to->whole[d] = a.in == a.out && a.scale == 1 && way != "tf_crop_and_resize";
}

std::vector<float> floats_of(const TensorView& tensor) {
  if (!tensor.present() || tensor.size() == 0) return {};
  require(tensor.dtype() == TENON_FLOAT32, TENON_UNIMPLEMENTED, "scales or roi in ",
          dtype_name(tensor.dtype()));
  return {tensor.data<float>(), tensor.data<float>() + tensor.size()};
}

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
    return linear ? check.input(0, kRealTypes) : check.input(0, kAnyTypes);
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
    rounding_ = static_cast<cl_int>(std::find(std::begin(kRoundings), std::end(kRoundings), rounding) -
                                    std::begin(kRoundings));
    require(rounding_ < 4, TENON_INVALID_ARGUMENT, "nearest_mode is '", rounding, "'");
    kernel_ = load_kernel(n, kSource,
                          defines_to_move(dtype) + (kRealTypes.contains(dtype) ? defines_for(dtype) : ""),
                          is_linear_ ? "Linear" : "Nearest", kLine);
  }

  Axes prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    require(x.size() <= kMaxWalkRank, TENON_INVALID_ARGUMENT, "rank ", x.size(),
            " is not supported; the limit is ", kMaxWalkRank);
    const std::vector<Axis> axes = resolve(p);
    Dims y;
    for (const Axis& axis : axes) y.push_back(axis.out);
    require(element_count(y) < kMostElements, TENON_RESOURCE_EXHAUSTED, "the output would have the shape ",
            y);
    p.set_output(0, y);
    narrow(element_count(y));

    Axes out{};
    out.rank = narrow(static_cast<int64_t>(x.size()));
    out.clips = way_ == "tf_crop_and_resize";
    const Dims strides = dense_strides(x);
    for (size_t d = 0; d < x.size(); ++d) {
      out.in[d] = narrow(x[d]);
      out.out[d] = narrow(y[d]);
      out.stride[d] = narrow(strides[d]);
      out.whole[d] = 1;
      if (!axes[d].named) continue;
      place(way_, axes[d], d, &out);
      out.rounding[d] = is_old_ && axes[d].scale < 1 ? kCeil : rounding_;
    }
    return out;
  }
  void record(Recorder& ctx, const Axes& axes) const {
    const int64_t n = ctx.output(0).size();
    const Size3 global{static_cast<size_t>(n), 1, 1};
    if (is_linear_) {
      launch(ctx, kernel_, global, in(ctx.input(0)), out(ctx.output(0)), axes, narrow(n), cl_float{beyond_});
    } else {
      launch(ctx, kernel_, global, in(ctx.input(0)), out(ctx.output(0)), axes, narrow(n),
             beyond_bits(ctx.input(0).dtype()));
    }
  }

 private:
  static constexpr int64_t kMostElements = int64_t{1} << 48;

  /// All axes of x, with scales, sizes and roi applied to the named ones.
  std::vector<Axis> resolve(const PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    std::vector<Axis> axes;
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
    for (const Axis& axis : axes)
      require(axis.out >= 0 && (axis.in > 0 || axis.out == 0), TENON_INVALID_ARGUMENT, "an axis of ", axis.in,
              " elements cannot be resized to ", axis.out, " elements");
    return axes;
  }

  static void read_roi(const std::vector<float>& roi, const std::vector<size_t>& named,
                       std::vector<Axis>& axes) {
    require(roi.size() == 2 * named.size(), TENON_INVALID_ARGUMENT, "roi must have ", 2 * named.size(),
            " elements");
    for (size_t i = 0; i < named.size(); ++i) {
      axes[named[i]].start = roi[i];
      axes[named[i]].end = roi[i + named.size()];
    }
  }

  static void read_scales(const std::vector<float>& scales, const std::vector<size_t>& named,
                          std::vector<Axis>& axes) {
    require(scales.size() == named.size(), TENON_INVALID_ARGUMENT, scales.size(), " scales for ",
            named.size(), " axes");
    for (size_t i = 0; i < named.size(); ++i) {
      Axis& axis = axes[named[i]];
      axis.scale = scales[i];
      require(axis.scale > 0, TENON_INVALID_ARGUMENT, "scale ", axis.scale, " is not positive");
      // In float, like the host's inference.
      const auto out = static_cast<double>(static_cast<float>(axis.in) * axis.scale);
      require(out < 1e12, TENON_RESOURCE_EXHAUSTED, "scale ", axis.scale, " is too large");
      axis.out = static_cast<int64_t>(std::floor(out));
    }
  }

  void read_sizes(const Dims& sizes, const std::vector<size_t>& named, std::vector<Axis>& axes) const {
    require(sizes.size() == named.size(), TENON_INVALID_ARGUMENT, sizes.size(), " sizes for ", named.size(),
            " axes");
    double best = 0;  // one scale for all axes if the ratio is kept
    for (size_t i = 0; i < named.size(); ++i) {
      Axis& axis = axes[named[i]];
      require(sizes[i] < kMostElements, TENON_RESOURCE_EXHAUSTED, "size ", sizes[i], " is too large");
      require(axis.in > 0 || sizes[i] == 0, TENON_INVALID_ARGUMENT,
              "an axis without elements cannot be resized to ", sizes[i], " elements");
      axis.out = sizes[i];
      axis.scale = static_cast<float>(axis.out) / static_cast<float>(std::max<int64_t>(1, axis.in));
      const double scale = static_cast<double>(sizes[i]) / static_cast<double>(std::max<int64_t>(1, axis.in));
      best = i == 0 ? scale : policy_ == "not_larger" ? std::min(best, scale) : std::max(best, scale);
    }
    if (policy_ == "stretch") return;
    for (const size_t d : named) {
      if (axes[d].in == 0) continue;
      axes[d].out = static_cast<int64_t>(std::floor(best * static_cast<double>(axes[d].in) + 0.5));
      axes[d].scale = static_cast<float>(best);
    }
  }

  cl_ulong beyond_bits(uint32_t dtype) const {
    cl_ulong bits = 0;
    dispatch(kAnyTypes, dtype, [&]<class T>() {
      const T value = static_cast<T>(beyond_);
      std::memcpy(&bits, &value, sizeof(value));
    });
    return bits;
  }

  bool is_old_, is_linear_;
  std::string way_;
  float beyond_;
  std::vector<float> attribute_scales_;
  std::vector<int64_t> axes_;
  bool has_axes_;
  std::string policy_;
  cl_int rounding_ = 0;
  KernelRef kernel_;
};
TENON_KERNEL(Resize, .op_type = "Resize", .since = 11,
             .contract = "X: rank 1..8; roi?: [?]; scales?: [?] @size; sizes?: [?] @size")
TENON_KERNEL(Resize, .op_type = "Resize", .since = 10, .until = 10,
             .contract = "X: rank 1..8; scales: [?] @size")
TENON_KERNEL(Resize, .op_type = "Upsample", .since = 9, .contract = "X: rank 1..8; scales: [?] @size")
TENON_KERNEL(Resize, .op_type = "Upsample", .since = 7, .until = 8, .contract = "X: rank 1..8")

}  // namespace
}  // namespace tenon::opencl
