#include <cmath>

#include "kernels/common/lines.h"
#include "kernels/common/resample.h"

namespace tenon::cpu {
namespace {

// Resize-10 has inputs (X, scales), later versions (X, roi, scales, sizes), with either scales or sizes: for
// all axes, or for those of attribute `axes`.
class Resize {
 public:
  using State = ResizeState;
  static Support supports(const NodeView& n) {
    Support rule = ResizeRule::supports(n);
    if (!rule) return rule;
    return Check(n).attr_is("keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"});
  }
  static std::vector<int> shape_inputs(const NodeView& n) {
    return n.since_version() < 11 ? std::vector<int>{1} : std::vector<int>{1, 2, 3};
  }

  explicit Resize(const NodeView& n)
      : rule_(n),
        axes_(n.attr_ints("axes")),
        has_axes_(n.has_attr("axes")),
        policy_(n.attr_s("keep_aspect_ratio_policy", "stretch")),
        scales_at_(n.since_version() < 11 ? 1 : 2) {}

  State prepare(PrepareContext& p) const {
    const DimsView in = p.input(0).dims();
    std::vector<ResizeAxis> axes(in.size());
    for (size_t d = 0; d < in.size(); ++d) axes[d].in = axes[d].out = in[d], axes[d].exact = true;
    const std::vector<size_t> named = named_axes(in.size());
    read_roi(p, named, axes);
    const bool by_size = scales_at_ == 2 && p.has_input(3) && p.input(3).size() > 0;
    const bool by_scale = p.has_input(scales_at_) && p.input(scales_at_).size() > 0;
    require(by_size != by_scale, TENON_INVALID_ARGUMENT, "either scales or sizes must be given");
    if (by_size)
      read_sizes(p.input(3).to_dims(), named, axes);
    else
      read_scales(as_doubles(p.input(scales_at_)), named, axes);
    return prepare_resize(p, rule_, axes);
  }

  void run(const Context& ctx, const State& state) const { resize(ctx, state, rule_); }

 private:
  std::vector<size_t> named_axes(size_t rank) const {
    std::vector<size_t> out;
    if (has_axes_) {
      normalize_axes(axes_, static_cast<int>(rank));  // refuses duplicates
      for (const int64_t axis : axes_)
        out.push_back(static_cast<size_t>(normalize_axis(axis, static_cast<int>(rank))));
    } else {
      for (size_t d = 0; d < rank; ++d) out.push_back(d);
    }
    return out;
  }

  void read_roi(PrepareContext& p, const std::vector<size_t>& named, std::vector<ResizeAxis>& axes) const {
    if (rule_.coordinates != "tf_crop_and_resize") return;
    require(p.has_input(1) && p.input(1).size() == static_cast<int64_t>(2 * named.size()),
            TENON_INVALID_ARGUMENT, "roi must have ", 2 * named.size(), " elements");
    const std::vector<double> roi = as_doubles(p.input(1));
    for (size_t i = 0; i < named.size(); ++i) {
      axes[named[i]].roi_begin = roi[i];
      axes[named[i]].roi_end = roi[i + named.size()];
    }
  }

  void read_scales(const std::vector<double>& scales, const std::vector<size_t>& named,
                   std::vector<ResizeAxis>& axes) const {
    require(scales.size() == named.size(), TENON_INVALID_ARGUMENT, scales.size(), " scales for ",
            named.size(), " axes");
    for (size_t i = 0; i < named.size(); ++i) {
      ResizeAxis& axis = axes[named[i]];
      axis.scale = static_cast<float>(scales[i]);
      axis.exact = false;
      require(axis.scale > 0, TENON_INVALID_ARGUMENT, "scale ", axis.scale, " is not positive");
      // The specification multiplies by the region of interest as well; ONNX's inference and reference do
      // not.
      const auto out = static_cast<double>(static_cast<float>(axis.in) * axis.scale);
      require(out < 1e12, TENON_RESOURCE_EXHAUSTED, "scale ", axis.scale, " is too large");
      axis.out = static_cast<int64_t>(std::floor(out));
    }
  }

  void read_sizes(const Dims& sizes, const std::vector<size_t>& named, std::vector<ResizeAxis>& axes) const {
    require(sizes.size() == named.size(), TENON_INVALID_ARGUMENT, sizes.size(), " sizes for ", named.size(),
            " axes");
    for (size_t i = 0; i < named.size(); ++i) {
      constexpr int64_t kMost = int64_t{1} << 48;
      require(sizes[i] < kMost, TENON_RESOURCE_EXHAUSTED, "size ", sizes[i], " is too large");
      require(axes[named[i]].in > 0 || sizes[i] == 0, TENON_INVALID_ARGUMENT,
              "an axis without elements cannot be resized to ", sizes[i], " elements");
      axes[named[i]].out = sizes[i];
    }
    if (policy_ == "stretch") return;
    double best = 0;  // one scale for all axes
    for (size_t i = 0; i < named.size(); ++i) {
      const double scale =
          static_cast<double>(sizes[i]) / static_cast<double>(std::max<int64_t>(1, axes[named[i]].in));
      best = i == 0 ? scale : policy_ == "not_larger" ? std::min(best, scale) : std::max(best, scale);
    }
    for (const size_t d : named) {
      if (axes[d].in == 0) continue;
      axes[d].out = static_cast<int64_t>(std::floor(best * static_cast<double>(axes[d].in) + 0.5));
      axes[d].scale = static_cast<float>(best);
      axes[d].length = best * static_cast<double>(axes[d].in);
      axes[d].exact = false;
    }
  }

  ResizeRule rule_;
  Dims axes_;
  bool has_axes_;
  std::string policy_;
  int scales_at_;
};
TENON_KERNEL(Resize, .op_type = "Resize", .since = 10, .until = 10,
             .contract = "X: rank 1..; scales: [?] @size")
TENON_KERNEL(Resize, .op_type = "Resize", .since = 11,
             .contract = "X: rank 1..; roi?: [?]; scales?: [?] @size; sizes?: [?] @size")

}  // namespace
}  // namespace tenon::cpu
