#include "tests/unit/core/transform/raise/quantized_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::ValueId;

const Scaling kScaling{kU8, {0.02f}, {131}, 1, true};
const std::vector<int64_t> kDims = {2, 3, 4, 5};

ValueId input(GraphBuilder& b, const std::string& name = "x", ir::ElementType type = kU8) {
  return b.input(name, type_of(type, {kDims.begin(), kDims.end()}));
}

/// Builds the operator on floats, quantises its result by `to`, and runs the transform.
TransformResult moved(const std::function<ValueId(GraphBuilder&, ValueId)>& op, const Scaling& by = kScaling,
                      const Scaling& to = kScaling, int64_t opset = 21) {
  GraphBuilder b(opset);
  b.output(quantize(b, op(b, dequantize(b, input(b, "x", by.type), by)), to));
  return transformed(b, "quantized_movement", {some_bytes(kDims, by.type)});
}
ValueId pooled(GraphBuilder& b, ValueId x) {
  return b.op("MaxPool", {x},
              {Attribute::of_ints("kernel_shape", {3, 2}), Attribute::of_ints("pads", {1, 0, 1, 1}),
               Attribute::of_ints("strides", {2, 1})});
}

TEST(RaiseQuantizedMovement, OperatorsThatMoveOrSelect) {
  const std::map<std::string, std::function<ValueId(GraphBuilder&, ValueId)>> operators = {
      {"MaxPool", pooled},
      {"Reshape",
       [](GraphBuilder& b, ValueId x) {
         return b.op("Reshape", {x, b.ints({2, -1})});
       }},
      {"Flatten", [](GraphBuilder& b, ValueId x) { return b.op("Flatten", {x}); }},
      {"Transpose",
       [](GraphBuilder& b, ValueId x) {
         return b.op("Transpose", {x}, {Attribute::of_ints("perm", {0, 2, 3, 1})});
       }},
      {"Unsqueeze",
       [](GraphBuilder& b, ValueId x) {
         return b.op("Unsqueeze", {x, b.ints({1})});
       }},
      {"Slice",
       [](GraphBuilder& b, ValueId x) {
         return b.op("Slice", {x, b.ints({1}), b.ints({3}), b.ints({2})});
       }},
      {"Gather",
       [](GraphBuilder& b, ValueId x) {
         return b.op("Gather", {x, b.ints({1, 0, 1})});
       }},
      {"Expand",
       [](GraphBuilder& b, ValueId x) {
         return b.op("Expand", {x, b.ints({2, 2, 3, 4, 5})});
       }},
      {"Concat",
       [](GraphBuilder& b, ValueId x) {
         return b.op("Concat", {x, x}, {Attribute::of_int("axis", 1)});
       }},
      {"Max",
       [](GraphBuilder& b, ValueId x) {
         return b.op("Max", {x, x});
       }},
  };
  for (const auto& [name, op] : operators) {
    SCOPED_TRACE(name);
    for (const auto type : {kU8, kI8}) {
      Scaling by = kScaling;
      by.type = type;
      by.zeros = {type == kU8 ? 131 : -7};
      const auto result = moved(op, by, by);
      EXPECT_EQ(result.nodes(), 1u);
      EXPECT_EQ(result.count(name), 1u);
    }
  }
}

TEST(RaiseQuantizedMovement, NotBetweenOtherParameters) {
  Scaling scale = kScaling, zero = kScaling, type = kScaling, lines = kScaling;
  scale.scales = {0.021f};
  zero.zeros = {130};
  type.type = kI8;
  type.zeros = {0};
  lines = {kU8, {0.1f, 0.2f, 0.3f}, {1, 2, 3}, 1, true};
  for (const Scaling& to : {scale, zero, type, lines}) {
    EXPECT_EQ(moved(pooled, kScaling, to).changes, 0u);
  }
  Scaling from = kScaling;
  from.zeros = type.zeros = {100};
  EXPECT_EQ(moved(pooled, from, type).changes, 0u) << "to another type";
  Scaling none = kScaling, of_zero = kScaling;
  none.has_zero = false;
  of_zero.zeros = {0};
  EXPECT_EQ(moved(pooled, none, of_zero).changes, 1u) << "no zero point is one of 0";
  Scaling large = kScaling;
  large.scales = {3e37f};
  EXPECT_EQ(moved(pooled, large, large).changes, 0u) << "floats overflow";
}

TEST(RaiseQuantizedMovement, NotInVersionsWithoutBytes) {
  EXPECT_EQ(moved(pooled, kScaling, kScaling, 11).changes, 0u);
  EXPECT_EQ(moved(pooled, kScaling, kScaling, 12).changes, 1u);
}

TEST(RaiseQuantizedMovement, NotOfOtherOperators) {
  EXPECT_EQ(moved([](GraphBuilder& b, ValueId x) { return b.op("Neg", {x}); }).changes, 0u);
  EXPECT_EQ(moved([](GraphBuilder& b, ValueId x) {
              return b.op("ReduceMean", {x, b.ints({-1})});
            }).changes,
            0u);
}

TEST(RaiseQuantizedMovement, PadsWithTheByteOfItsConstant) {
  const auto padded = [](GraphBuilder& b, ValueId x, std::optional<float> number) {
    std::vector<ValueId> in = {x, b.ints({0, 0, 1, 1, 0, 0, 0, 2})};
    if (number) in.push_back(b.constant(floats({}, {*number})));
    return b.op("Pad", in);
  };
  for (const std::optional<float> number : {std::optional<float>(), {0.0f}, {0.5f}, {-900.0f}, {0.0333f}}) {
    const auto result = moved([&](GraphBuilder& b, ValueId x) { return padded(b, x, number); });
    EXPECT_EQ(result.nodes(), 1u) << number.value_or(-1);
  }
}

TEST(RaiseQuantizedMovement, AllPartsOfAConcatenation) {
  for (const bool is_same : {true, false}) {
    Scaling other = kScaling;
    if (!is_same) other.zeros = {0};
    GraphBuilder b;
    const ValueId x = dequantize(b, input(b), kScaling), y = dequantize(b, input(b, "y"), other);
    b.output(quantize(b, b.op("Concat", {x, y}, {Attribute::of_int("axis", 2)}), kScaling));
    b.output(b.op("Neg", {x}));
    const auto result =
        transformed(b, "quantized_movement", {some_bytes(kDims, kU8), some_bytes(kDims, kU8, 2)});
    EXPECT_EQ(result.changes, is_same ? 1u : 0u);
    EXPECT_EQ(result.nodes(), is_same ? 3u : 5u);
  }
}

TEST(RaiseQuantizedMovement, NotWhenIndicesAreReadOrAFloatIsAnOutput) {
  GraphBuilder b;
  const auto both =
      b.ops("MaxPool", {dequantize(b, input(b), kScaling)}, 2, {Attribute::of_ints("kernel_shape", {1, 1})});
  b.output(quantize(b, both[0], kScaling));
  b.output(both[1]);
  ir::Model model;
  model.graph = b.done();
  model.opset_imports = b.imports();
  const auto report = transform::run_pipeline(model.graph, model, only("quantized_movement"));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->changes("quantized_movement"), 0u);
  GraphBuilder shown;
  const ValueId real = pooled(shown, dequantize(shown, input(shown), kScaling));
  shown.output(real);
  shown.output(quantize(shown, real, kScaling));
  EXPECT_EQ(transformed(shown, "quantized_movement", {some_bytes(kDims, kU8)}).changes, 0u);
}

TEST(RaiseQuantizedMovement, OneAfterTheOther) {
  GraphBuilder b;
  const ValueId bytes = quantize(b, pooled(b, dequantize(b, input(b), kScaling)), kScaling);
  const ValueId real = dequantize(b, bytes, kScaling);
  b.output(quantize(b, b.op("Flatten", {real}), kScaling));
  b.output(real);
  const auto result = transformed(b, "quantized_movement", {some_bytes(kDims, kU8)});
  EXPECT_EQ(result.changes, 2u);
  EXPECT_EQ(result.nodes(), 3u);
}

/// Two Transposes on bytes become one, whose nodes are then unknown.
TEST(RaiseQuantizedMovement, ATransposeThatChangesIsNoLongerPutBack) {
  GraphBuilder b;
  const auto turned = [&](ValueId x) {
    const Attribute perm = Attribute::of_ints("perm", {1, 2, 3, 0});
    return quantize(b, b.op("Transpose", {dequantize(b, x, kScaling)}, {perm}), kScaling);
  };
  b.output(turned(turned(input(b))));
  const auto result = transformed(b, "", {some_bytes(kDims, kU8)});
  EXPECT_EQ(result.nodes(), 1u);
  ir::Graph graph = result.model.graph;
  EXPECT_EQ(transform::put_back_for_file(graph, 24), 0u);
}

TEST(RaiseQuantizedMovement, PutBackGivesTheSameGraph) {
  GraphBuilder b;
  const ValueId real = dequantize(b, input(b), kScaling);
  b.output(quantize(b, pooled(b, real), kScaling));
  b.output(quantize(b, b.op("Resize", {real, ir::kNone, b.constant(floats({4}, {1, 1, 2, 2}))}), kScaling));
  b.output(quantize(b, b.op("Pad", {real, b.ints({0, 0, 1, 1, 0, 0, 0, 2})}), kScaling));
  expect_same_graph_put_back(b, 3);
}

}  // namespace
}  // namespace tenon::testing
