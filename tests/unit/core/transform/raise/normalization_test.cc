// Normalisations as exporters write them.
#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::ElementType;
using ir::ValueId;

const std::string kLayer = "layer_normalization", kRms = "rms_normalization";

/// Forms of a normalisation.
struct Form {
  int64_t opset = 17;
  bool squares_by_pow = true;
  int root = 0;  // 0 Sqrt and Div, 1 Sqrt and Reciprocal, 2 Div(1, Sqrt), 3 Pow(-0.5), 4 Pow(0.5) and Div
  std::vector<int64_t> axes = {-1};
  bool scale = true, bias = true;
  std::vector<int64_t> parameters = {6};  // dims
  float epsilon = 1e-5f;
};

class Maker {
 public:
  explicit Maker(const Form& form) : form_(form), b(form.opset) {}

  ValueId number(float value) { return b.constant(floats({}, {value})); }
  ValueId mean(ValueId x) {
    if (form_.opset < 18) return b.op("ReduceMean", {x}, {Attribute::of_ints("axes", form_.axes)});
    return b.op("ReduceMean", {x, b.ints(form_.axes)});
  }
  ValueId centred(ValueId x) { return b.op("Sub", {x, mean(x)}); }
  ValueId quotient(ValueId d) {
    const ValueId squares = form_.squares_by_pow ? b.op("Pow", {d, number(2)}) : b.op("Mul", {d, d});
    const ValueId sum = b.op("Add", {mean(squares), number(form_.epsilon)});
    if (form_.root == 0) return b.op("Div", {d, b.op("Sqrt", {sum})});
    if (form_.root == 1) return b.op("Mul", {d, b.op("Reciprocal", {b.op("Sqrt", {sum})})});
    if (form_.root == 2) return b.op("Mul", {b.op("Div", {number(1), b.op("Sqrt", {sum})}), d});
    if (form_.root == 3) return b.op("Mul", {d, b.op("Pow", {sum, number(-0.5f)})});
    return b.op("Div", {d, b.op("Pow", {sum, number(0.5f)})});
  }
  ValueId finished(ValueId y) {
    if (form_.scale) y = b.op("Mul", {b.constant(some_floats(form_.parameters, 3)), y});
    if (form_.bias) y = b.op("Add", {y, b.constant(some_floats(form_.parameters, 4))});
    return y;
  }
  TransformResult layer() {
    b.output(finished(quotient(centred(b.input("x", f32({2, 5, 6}))))));
    return transformed(b, kLayer, {some({2, 5, 6})});
  }
  TransformResult rms() {
    b.output(finished(quotient(b.input("x", f32({2, 5, 6})))));
    return transformed(b, kRms, {some({2, 5, 6})});
  }

 private:
  Form form_;

 public:
  GraphBuilder b;
};

TEST(RaiseLayerNormalization, FormsOfExporters) {
  for (const int64_t opset : {11, 17, 18}) {
    for (const bool squares_by_pow : {true, false}) {
      for (const int root : {0, 1, 2, 3, 4}) {
        SCOPED_TRACE(str_cat(opset, " ", squares_by_pow, " ", root));
        Maker maker({.opset = opset, .squares_by_pow = squares_by_pow, .root = root});
        const auto result = maker.layer();
        EXPECT_EQ(result.nodes(), 1u) << ir::to_text(result.model.graph);
        EXPECT_EQ(result.count("LayerNormalization"), 1u);
      }
    }
  }
}

TEST(RaiseLayerNormalization, SeveralAxes) {
  Maker maker({.axes = {1, 2}, .parameters = {5, 6}});
  EXPECT_EQ(maker.layer().nodes(), 1u);
  Maker turned({.axes = {-1, -2}, .parameters = {1, 5, 6}});
  EXPECT_EQ(turned.layer().nodes(), 1u);
}

TEST(RaiseLayerNormalization, NotOverOtherAxes) {
  for (const auto& axes : {std::vector<int64_t>{1}, {0, 1}, {0, 2}}) {
    Maker maker({.axes = axes});
    EXPECT_EQ(maker.layer().changes, 0u);
  }
}

TEST(RaiseLayerNormalization, WithoutScaleOrBias) {
  Maker bare({.scale = false, .bias = false});
  EXPECT_EQ(bare.layer().nodes(), 1u);
  Maker scaled({.bias = false});
  EXPECT_EQ(scaled.layer().nodes(), 1u);
  Maker biased({.scale = false});
  EXPECT_EQ(biased.layer().nodes(), 1u);
  // A scale of another shape stays behind.
  Maker other({.parameters = {5, 6}});
  EXPECT_EQ(other.layer().nodes(), 3u);
}

TEST(RaiseLayerNormalization, ParametersWithLeadingOnes) {
  Maker maker({.parameters = {1, 1, 6}});
  EXPECT_EQ(maker.layer().nodes(), 1u);
  Maker more({.parameters = {1, 1, 1, 6}});
  EXPECT_EQ(more.layer().nodes(), 3u);  // they add a dimension
}

TEST(RaiseLayerNormalization, NotWhenTheDifferenceIsReadElsewhere) {
  Maker maker({});
  const auto d = maker.centred(maker.b.input("x", f32({2, 5, 6})));
  maker.b.output(maker.finished(maker.quotient(d)));
  maker.b.output(maker.b.op("Neg", {d}));
  EXPECT_EQ(transformed(maker.b, kLayer, {some({2, 5, 6})}).changes, 0u);
}

TEST(RaiseLayerNormalization, AfterEqualDifferencesAreOne) {
  Maker maker({});
  const auto x = maker.b.input("x", f32({2, 5, 6})), mean = maker.mean(x);
  const auto one = maker.b.op("Sub", {x, mean}), two = maker.b.op("Sub", {x, mean});
  const auto variance = maker.mean(maker.b.op("Mul", {two, two}));
  const auto root = maker.b.op("Sqrt", {maker.b.op("Add", {variance, maker.number(1e-5f)})});
  maker.b.output(maker.finished(maker.b.op("Div", {one, root})));
  const auto result = transformed(maker.b, "", {some({2, 5, 6})});
  EXPECT_EQ(result.nodes(), 1u) << ir::to_text(result.model.graph);
  EXPECT_EQ(result.count("LayerNormalization"), 1u);
}

TEST(RaiseLayerNormalization, CastsAroundIt) {
  for (const bool rms : {false, true}) {
    Maker maker({.bias = false});
    GraphBuilder& b = maker.b;
    const auto as = [](ElementType type) {
      return std::vector<Attribute>{Attribute::of_int("to", static_cast<int64_t>(type))};
    };
    const auto x = b.input("x", type_of(ElementType::kFloat16, {ir::Dim(2), ir::Dim(6)}));
    const auto wide = b.op("Cast", {x}, as(ElementType::kFloat32));
    const auto y =
        b.op("Cast", {maker.quotient(rms ? wide : maker.centred(wide))}, as(ElementType::kFloat16));
    b.output(b.op("Mul", {b.constant(tensor_of(some({6}, 3), ElementType::kFloat16)), y}));
    const auto result = transformed(b, rms ? kRms : kLayer, {some({2, 6})});
    EXPECT_EQ(result.nodes(), 1u) << ir::to_text(result.model.graph);
  }
}

TEST(RaiseLayerNormalization, NotInDoublePrecision) {
  GraphBuilder b;
  const auto number = [&](double v) { return b.constant(tensor(ElementType::kFloat64, {}, std::vector{v})); };
  const auto x = b.input("x", type_of(ElementType::kFloat64, {ir::Dim(2), ir::Dim(6)}));
  const auto mean = b.op("ReduceMean", {b.op("Mul", {x, x}), b.ints({-1})});
  b.output(b.op("Div", {x, b.op("Sqrt", {b.op("Add", {mean, number(1e-5)})})}));
  EXPECT_EQ(transformed(b, kRms, {some({2, 6})}).changes, 0u);
}

TEST(RaiseRmsNormalization, FormsOfExporters) {
  for (const int64_t opset : {13, 18}) {
    for (const int root : {0, 1, 2, 3, 4}) {
      for (const bool scale : {true, false}) {
        SCOPED_TRACE(str_cat(opset, " ", root, " ", scale));
        Maker maker({.opset = opset, .root = root, .scale = scale, .bias = false, .epsilon = 1e-6f});
        const auto result = maker.rms();
        EXPECT_EQ(result.nodes(), 1u);
        EXPECT_EQ(result.count("RMSNormalization"), 1u);
      }
    }
  }
}

TEST(RaiseRmsNormalization, LeavesLayerNormalizations) {
  Maker maker({});
  maker.b.output(maker.finished(maker.quotient(maker.centred(maker.b.input("x", f32({2, 5, 6}))))));
  EXPECT_EQ(transformed(maker.b, kRms, {some({2, 5, 6})}).changes, 0u);
}

TEST(RaiseRmsNormalization, NotWhenTheRootIsReadElsewhere) {
  Maker maker({});
  const auto x = maker.b.input("x", f32({2, 5, 6}));
  const auto root =
      maker.b.op("Sqrt", {maker.b.op("Add", {maker.mean(maker.b.op("Mul", {x, x})), maker.number(1)})});
  maker.b.output(maker.b.op("Div", {x, root}));
  maker.b.output(root);
  EXPECT_EQ(transformed(maker.b, kRms, {some({2, 5, 6})}).changes, 0u);
}

}  // namespace
}  // namespace tenon::testing
