// Resize and Upsample where oneDNN's resampling gives ONNX's result: repetition by whole factors, and linear
// interpolation between pixel centres.
#include <cmath>

#include "compiler/builder.h"

namespace tenon::onednn {
namespace {

int scales_input(const NodeView& n) { return n.op() == "Upsample" || n.since_version() < 11 ? 1 : 2; }

/// The factors if they follow from constants or known shapes, else empty.
std::vector<float> factors_of(const NodeView& n) {
  if (n.has_attr("scales")) return n.attr_floats("scales");
  const int input = scales_input(n);
  if (n.has_input(input) && n.input(input).is_constant() && n.input(input).constant().size() != 0) {
    const auto scales = n.input(input).constant().span<float>();
    return {scales.begin(), scales.end()};
  }
  std::vector<float> out;
  const ep::ValueView x = n.input(0), y = n.output(0);
  if (!x.has_rank() || !y.has_rank() || !n.has_input(3) || !n.input(3).is_constant()) return {};
  for (int i = 0; i < x.rank(); ++i) {
    if (x.dim(i) <= 0 || y.dim(i) <= 0) return {};
    out.push_back(static_cast<float>(y.dim(i)) / static_cast<float>(x.dim(i)));
  }
  return out;
}

bool whole_multiples(const std::vector<float>& factors) {
  for (const float f : factors) {
    if (f < 1 || f != std::floor(f)) return false;
  }
  return true;
}

bool repeats(const NodeView& n) {
  if (n.op() == "Upsample" || n.since_version() < 11) return true;
  const std::string place = n.attr_s("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = n.attr_s("nearest_mode", "round_prefer_floor");
  if (place == "asymmetric") return nearest == "floor";
  return place == "half_pixel" && (nearest == "round_prefer_floor" || nearest == "round_prefer_ceil");
}

class Resize : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.input(0, kFloat32).input(scales_input(n), kFloat32).rank(0, 3, 5);
    check.attr_is("antialias", {int64_t{0}}).attr_is("exclude_outside", {int64_t{0}});
    check.attr_is("keep_aspect_ratio_policy", {"stretch"}).attr_is("mode", {"nearest", "linear"});
    check.that(!n.has_attr("axes"), TENON_REJECT_ATTRIBUTE, "the attribute axes is not supported");
    if (!check.ok()) return check;
    const std::vector<float> factors = factors_of(n);
    check.that(factors.size() == static_cast<size_t>(n.input(0).rank()), TENON_REJECT_OTHER,
               "the scales are not constant");
    if (!check.ok()) return check;
    check.that(factors[0] == 1 && factors[1] == 1, TENON_REJECT_ATTRIBUTE,
               "resizing batch or channels is not supported");
    check.that(whole_multiples(factors), TENON_REJECT_ATTRIBUTE, "a scale is not a whole number");
    if (n.attr_s("mode", "nearest") == "nearest") {
      check.that(repeats(n), TENON_REJECT_ATTRIBUTE,
                 "oneDNN does not support this coordinate_transformation_mode with this nearest_mode");
    } else {
      const bool centres = n.op() == "Resize" && n.since_version() >= 11 &&
                           n.attr_s("coordinate_transformation_mode", "half_pixel") == "half_pixel";
      check.that(centres, TENON_REJECT_ATTRIBUTE, "linear is supported only with half_pixel");
    }
    return check;
  }
  /// The factors are whole, and the host's inference is known to multiply with them.
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims &x = b.dims(node.inputs[0]), &y = b.dims(node.outputs[0]);
    bool good = x.size() == y.size() && x[0] == y[0] && x[1] == y[1];
    for (size_t i = 2; good && i < x.size(); ++i) good = x[i] == 0 ? y[i] == 0 : y[i] % x[i] == 0;
    require(good, TENON_INVALID_ARGUMENT, "shape ", y, " is not a multiple of ", x);
    return y;
  }
  explicit Resize(const NodeView& n) : linear_(n.attr_s("mode", "nearest") == "linear") {}

  void build(Builder& b, const Node& node) const override {
    const Dims &x = b.dims(node.inputs[0]), &y = b.dims(node.outputs[0]);
    std::vector<float> factors;
    for (size_t i = 2; i < x.size(); ++i)
      factors.push_back(static_cast<float>(y[i]) / static_cast<float>(x[i]));
    Tensor source;
    const auto make = [&](const Layout& layout) {
      return make_resampling(b.engine(), linear_, factors, layout, Layout::any(Type::kFloat32, y));
    };
    const Primitive primitive = b.suit(b.tensor(node.inputs[0]), make, &source);
    const Tensor out = b.create(node.outputs[0], primitive.layout(kDestination));
    b.call(primitive, {{kSource, source}, {kDestination, out}});
  }
  double bound(const Builder& b, const Node& node) const override { return b.bound(node.inputs[0]); }

 private:
  bool linear_;
};
ONEDNN_OPERATOR(Resize, .op_type = "Resize", .since = 10, .until = 10,
                .contract = "X: any; scales: rank 1 @size")
ONEDNN_OPERATOR(Resize, .op_type = "Resize", .since = 11,
                .contract = "X: any; roi?: rank 1; scales?: rank 1 @size; sizes?: rank 1 @size")
ONEDNN_OPERATOR(Resize, .op_type = "Upsample", .since = 7, .until = 8, .contract = "X: any")
ONEDNN_OPERATOR(Resize, .op_type = "Upsample", .since = 9, .contract = "X: any; scales: rank 1 @size")

}  // namespace
}  // namespace tenon::onednn
