// Operators that run as the function which ONNX defines for them.
#include <gmock/gmock.h>

#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

using testing::FloatNear;
using testing::Pointwise;

TEST(Expand, MeanVarianceNormalizationTakesEveryFloatingType) {
  for (const auto& [element, dtype] : {std::pair(ir::ElementType::kFloat16, TENON_FLOAT16),
                                       {ir::ElementType::kFloat64, TENON_FLOAT64},
                                       {ir::ElementType::kFloat32, TENON_FLOAT32}}) {
    SCOPED_TRACE(ir::element_type_name(element));
    GraphMaker m;
    const auto x = m.input("x", GraphMaker::f32({1, 1, 2, 2}));
    const auto as = [](ir::ElementType type) {
      return std::vector<ir::Attribute>{ir::Attribute::of_int("to", static_cast<int64_t>(type))};
    };
    const auto narrow = m.node("Cast", {x}, as(element), "in");
    const auto made = m.node("MeanVarianceNormalization", {narrow});
    m.output(m.node("Cast", {made}, as(ir::ElementType::kFloat32), "out"), "y");
    m.output(made, "n");
    const auto session = make_session(m.bytes(16));
    ASSERT_NE(session, nullptr);
    const auto outputs = run(*session, {{"x", f32({1, 1, 2, 2}, {1, 3, 5, 7})}});
    const float unit = 1.0f / 2.2360680f;
    EXPECT_THAT(floats(outputs[0]),
                Pointwise(FloatNear(2e-3f), std::vector<float>{-3 * unit, -unit, unit, 3 * unit}));
    EXPECT_EQ(outputs[1]->tensor.dtype, static_cast<uint32_t>(dtype));
  }
}

/// Points -1 + (2 i + 1) / 12 of a row of 12, nearest half float each: the steps of the body may not be rounded.
TEST(Expand, AffineGridOfHalfFloatsRoundsOnce) {
  GraphMaker m;
  const auto theta =
      m.node("Cast", {m.input("theta", GraphMaker::f32({1, 2, 3}))},
             {ir::Attribute::of_int("to", static_cast<int64_t>(ir::ElementType::kFloat16))}, "in");
  const auto grid = m.node("AffineGrid", {theta, m.ints("size", {1, 1, 1, 12})});
  m.output(m.node("Cast", {grid},
                  {ir::Attribute::of_int("to", static_cast<int64_t>(ir::ElementType::kFloat32))}, "out"),
           "y");
  const auto session = make_session(m.bytes(20));
  ASSERT_NE(session, nullptr);
  const auto outputs = run(*session, {{"theta", f32({1, 2, 3}, {1, 0, 0, 0, 1, 0})}});
  std::vector<float> expected;
  for (int i = 0; i < 12; ++i) {
    expected.push_back(static_cast<float>(2 * i + 1) / 12.0f - 1.0f);
    expected.push_back(0.0f);
  }
  EXPECT_THAT(floats(outputs[0]), Pointwise(FloatNear(2.5e-4f), expected));
}

}  // namespace
}  // namespace tenon::test
