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

TEST(Corrected, SamePadsATransposedConvolutionToTheInputTimesTheStride) {
  struct Row {
    int64_t kernel, extra, wanted;
  };
  // Without padding there would be 9, 7 and 5.
  for (const Row& row : {Row{4, 2, 6}, Row{4, 0, 6}, Row{1, 1, 5}}) {
    GraphBuilder b(22);
    const auto y =
        b.op("ConvTranspose", {b.input("x", f32({1, 1, 2})), b.input("w", f32({1, 1, row.kernel}))},
             {Attribute::of_string("auto_pad", "SAME_LOWER"), Attribute::of_ints("strides", {3}),
              Attribute::of_ints("output_padding", {row.extra})});
    b.done();
    EXPECT_EQ(b.type(y), "float32[1,1," + std::to_string(row.wanted) + "]");
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

ir::Type symbolic(ir::ElementType element, const std::vector<std::string>& names) {
  ir::Shape shape = ir::Shape::of({});
  for (const std::string& name : names) shape.dims.push_back(ir::Dim(name));
  return ir::Type::tensor(element, std::move(shape));
}

TEST(Corrected, ADimThatIsCutHasNoLongerTheNameOfTheInputs) {
  for (const int64_t opset : {1, 10, 11, 13}) {
    SCOPED_TRACE(opset);
    GraphBuilder b(opset);
    const auto x = b.input("x", symbolic(ir::ElementType::kFloat32, {"A", "B"}));
    const auto y = opset == 1 ? b.op("Slice", {x},
                                     {Attribute::of_ints("axes", {1}), Attribute::of_ints("starts", {0}),
                                      Attribute::of_ints("ends", {3})})
                              : b.op("Slice", {x, b.ints({0}), b.ints({3}), b.ints({1})});
    b.done();
    EXPECT_THAT(b.type(y), ::testing::StartsWith("float32[A,"));
    EXPECT_THAT(b.type(y), ::testing::Not(::testing::HasSubstr("B")));
  }
}

TEST(Corrected, AttentionTakesNoLengthForZero) {
  for (const int64_t opset : {23, 24}) {
    SCOPED_TRACE(opset);
    GraphBuilder b(opset);
    const auto f = ir::ElementType::kFloat32;
    const auto out =
        b.ops("Attention",
              {b.input("q", symbolic(f, {"B", "L", "H"})), b.input("k", symbolic(f, {"B", "S", "H"})),
               b.input("v", symbolic(f, {"B", "S", "H"})), ir::kNone, b.input("past_k", f32({2, 3, 12, 8})),
               b.input("past_v", f32({2, 3, 12, 8}))},
              4, {Attribute::of_int("q_num_heads", 3), Attribute::of_int("kv_num_heads", 3)});
    b.done();
    EXPECT_THAT(b.type(out[0]), ::testing::MatchesRegex("float32.B,L,_.*"));
    EXPECT_THAT(b.type(out[1]), ::testing::Not(::testing::HasSubstr("12")));
    EXPECT_THAT(b.type(out[3]), ::testing::MatchesRegex("float32.B,3,L,[^0-9].*"));
  }
}

TEST(Corrected, AttentionCountsThePast) {
  GraphBuilder b(23);
  const auto out =
      b.ops("Attention",
            {b.input("q", f32({2, 4, 24})), b.input("k", f32({2, 6, 24})), b.input("v", f32({2, 6, 30})),
             ir::kNone, b.input("past_k", f32({2, 3, 12, 8})), b.input("past_v", f32({2, 3, 12, 10}))},
            4, {Attribute::of_int("q_num_heads", 3), Attribute::of_int("kv_num_heads", 3)});
  b.done();
  EXPECT_EQ(b.type(out[0]), "float32[2,4,30]");
  EXPECT_EQ(b.type(out[1]), "float32[2,3,18,8]");
  EXPECT_EQ(b.type(out[2]), "float32[2,3,18,10]");
  EXPECT_EQ(b.type(out[3]), "float32[2,3,4,18]");
}

TEST(Corrected, ListsOfResizeMayHaveAnyLengthUntilItIsKnown) {
  for (const int64_t opset : {10, 11, 13, 18, 19}) {
    SCOPED_TRACE(opset);
    GraphBuilder b(opset);
    const auto x = b.input("x", f32({1, 1, 4, 4}));
    const auto list =
        b.input("list", symbolic(opset == 10 ? ir::ElementType::kFloat32 : ir::ElementType::kInt64, {"N"}));
    const auto y = opset == 10
                       ? b.op("Resize", {x, list})
                       : b.op("Resize", {x, b.input("roi", f32({0})), b.input("scales", f32({0})), list});
    b.done();
    EXPECT_THAT(b.type(y), ::testing::MatchesRegex("float32.[^0-9,]+[^,]*,[^,]*,[^,]*,[^,]*"));
  }
}

TEST(Corrected, TextOfAnUnknownNumberOfRowsHasOne) {
  GraphBuilder b(10);
  const auto y = b.op("StringNormalizer", {b.input("x", symbolic(ir::ElementType::kString, {"N", "C"}))});
  b.done();
  EXPECT_THAT(b.type(y), ::testing::StartsWith("string[1,"));
}

}  // namespace
}  // namespace tenon::ops
