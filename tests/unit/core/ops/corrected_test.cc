// Where ONNX's inference is wrong, or narrower than its operators, ours is not.
#include <gmock/gmock.h>

#include "tests/unit/core/build_graph.h"

namespace tenon::ops {
namespace {

using ir::Attribute;
using tenon::testing::f32;
using tenon::testing::GraphBuilder;

struct Window {
  const char* op;
  int64_t opset, size, kernel, stride, wanted;
};

TEST(Corrected, AWindowThatBeginsInThePaddingIsNotCounted) {
  for (const Window& w : {Window{"MaxPool", 10, 6, 1, 3, 2}, Window{"MaxPool", 11, 6, 1, 3, 2},
                          Window{"MaxPool", 12, 6, 1, 3, 2}, Window{"MaxPool", 22, 6, 1, 3, 2},
                          Window{"AveragePool", 10, 6, 1, 3, 2}, Window{"AveragePool", 11, 6, 1, 3, 2},
                          Window{"AveragePool", 19, 6, 1, 3, 2}, Window{"AveragePool", 22, 6, 1, 3, 2},
                          Window{"LpPool", 18, 6, 1, 3, 2}, Window{"MaxPool", 12, 7, 2, 2, 4},
                          // A stride too long: none, though division towards zero says one.
                          Window{"MaxPool", 12, 2, 4, 2, 0}, Window{"AveragePool", 22, 2, 4, 2, 0},
                          Window{"LpPool", 18, 1, 3, 2, 0}, Window{"LpPool", 22, 1, 4, 3, 0}}) {
    SCOPED_TRACE(std::string(w.op) + "-" + std::to_string(w.opset));
    GraphBuilder b(w.opset);
    const auto y = b.op(w.op, {b.input("x", f32({1, 1, w.size}))},
                        {Attribute::of_int("ceil_mode", 1), Attribute::of_ints("kernel_shape", {w.kernel}),
                         Attribute::of_ints("strides", {w.stride})});
    b.done();
    EXPECT_EQ(b.type(y), "float32[1,1," + std::to_string(w.wanted) + "]");
  }
}

TEST(Corrected, ATransposedConvolutionMayGiveLessThanItTakes) {
  for (const int64_t opset : {7, 11, 22}) {
    GraphBuilder b(opset);
    const auto y =
        b.op("ConvTranspose", {b.input("x", f32({1, 1, 5, 4, 3})), b.input("w", f32({1, 2, 1, 1, 2}))},
             {Attribute::of_ints("output_shape", {5, 2, 4})});
    b.done();
    EXPECT_EQ(b.type(y), "float32[1,2,5,2,4]");
  }
}

ir::TensorPtr int32s(const std::vector<int32_t>& values) {
  return tenon::testing::tensor(ir::ElementType::kInt32, {static_cast<int64_t>(values.size())}, values);
}

TEST(Corrected, AxesAndShapesMayBeOfInt32) {
  GraphBuilder b(18);
  const auto x = b.input("x", f32({2, 3}));
  const auto padded = b.op("Pad", {x, b.ints({1, 1}), ir::kNone, b.constant(int32s({1}))});
  const auto cropped = b.op("CenterCropPad", {x, b.constant(int32s({4, 2}))});
  b.done();
  EXPECT_EQ(b.type(padded), "float32[2,5]");
  EXPECT_EQ(b.type(cropped), "float32[4,2]");
}

}  // namespace
}  // namespace tenon::ops
