#include <cmath>

#include "kernels/common/lines.h"
#include "kernels/common/resample.h"

namespace tenon::cpu {
namespace {

// Scales are an input since version 9, attribute `scales` in version 7, and `height_scale` and `width_scale`
// in version 1. Coordinates are asymmetric.
class Upsample {
 public:
  using State = ResizeState;
  static constexpr int shape_inputs[] = {1};
  static Support supports(const NodeView& n) { return ResizeRule::supports(n); }

  explicit Upsample(const NodeView& n) : rule_(n), scales_(n.attr_floats("scales")) {
    if (n.since_version() < 7) scales_ = {1, 1, n.attr_f("height_scale"), n.attr_f("width_scale")};
  }

  State prepare(PrepareContext& p) const {
    const DimsView in = p.input(0).dims();
    std::vector<double> scales(scales_.begin(), scales_.end());
    if (p.has_input(1)) scales = as_doubles(p.input(1));
    require(scales.size() == in.size(), TENON_INVALID_ARGUMENT, scales.size(), " scales for rank ",
            in.size());
    std::vector<ResizeAxis> axes(in.size());
    for (size_t d = 0; d < in.size(); ++d) {
      axes[d].in = in[d];
      axes[d].scale = static_cast<float>(scales[d]);
      const float out = static_cast<float>(in[d]) * axes[d].scale;
      require(axes[d].scale > 0 && out < 1e12f, TENON_INVALID_ARGUMENT, "scale ", scales[d],
              " is out of range");
      axes[d].out = static_cast<int64_t>(std::floor(out));
    }
    return prepare_resize(p, rule_, axes);
  }

  void run(const Context& ctx, const State& state) const { resize(ctx, state, rule_); }

 private:
  ResizeRule rule_;
  std::vector<float> scales_;
};
TENON_KERNEL(Upsample, .op_type = "Upsample", .until = 8, .contract = "X: rank 1..")
TENON_KERNEL(Upsample, .op_type = "Upsample", .since = 9, .contract = "X: rank 1..; scales: [?] @size")

}  // namespace
}  // namespace tenon::cpu
