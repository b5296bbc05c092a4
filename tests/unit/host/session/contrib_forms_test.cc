// Operators of com.microsoft whose form in ai.onnx depends on what is known when the model is loaded: with constants and
// fixed shapes, or only at a Run, the results are the same.
#include <gmock/gmock.h>

#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

using ir::Attribute;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

std::vector<ir::ValueId> microsoft(GraphMaker& m, std::string_view op, const std::vector<ir::ValueId>& inputs,
                                   size_t outputs, std::vector<Attribute> attributes) {
  const std::vector<ir::ValueId> made = m.nodes(op, inputs, outputs, std::move(attributes));
  m.graph.mutable_node(m.graph.value(made[0]).producer).domain = "com.microsoft";
  return made;
}

std::vector<float> counted(size_t count, float step) {
  std::vector<float> out;
  for (size_t i = 0; i < count; ++i) out.push_back(step * static_cast<float>(i % 7) - step * 2);
  return out;
}

ValueRef bytes(const std::vector<int64_t>& dims, size_t count) {
  std::vector<uint8_t> data;
  for (size_t i = 0; i < count; ++i) data.push_back(static_cast<uint8_t>(i * 37 + 11));
  return tensor(TENON_UINT8, dims, data.data());
}

struct Blocks {
  int64_t bits, size, columns;
  bool zeros;
  int64_t turn = -1;  // element k is of group (k + turn) % count; -1: block after block
  int64_t count() const { return (columns + size - 1) / size; }
  std::vector<int64_t> weight_dims() const { return {3, count(), size * bits / 8}; }
  std::vector<int64_t> zero_dims() const { return {3, (count() * bits + 7) / 8}; }
};

/// `known`: weights, scales and zero points are constants.
std::vector<float> quantized_product(const Blocks& blocks, bool known) {
  const auto product = [](const std::vector<int64_t>& dims) {
    size_t n = 1;
    for (const int64_t dim : dims) n *= static_cast<size_t>(dim);
    return n;
  };
  const ValueRef weights = bytes(blocks.weight_dims(), product(blocks.weight_dims()));
  const ValueRef zeros = bytes(blocks.zero_dims(), product(blocks.zero_dims()));
  const std::vector<int64_t> scale_dims = {3 * blocks.count()};
  const ValueRef scales = f32(scale_dims, counted(static_cast<size_t>(scale_dims[0]), 0.25f));
  const ValueRef x = f32({2, blocks.columns}, counted(static_cast<size_t>(2 * blocks.columns), 0.5f));
  GraphMaker m;
  std::vector<ir::ValueId> inputs = {m.input("x", GraphMaker::f32({2, blocks.columns}))};
  std::vector<session::NamedValue> given = {{"x", x}};
  const auto add = [&](const std::string& name, const ValueRef& value) {
    if (known) {
      inputs.push_back(m.graph.add_constant(name, *runtime::tensor_of(value)));
    } else {
      const ir::TensorPtr like = *runtime::tensor_of(value);
      inputs.push_back(m.input(name, ir::Type::tensor(like->type(), like->shape())));
      given.push_back({m.graph.value(inputs.back()).name, value});
    }
  };
  add("w", weights);
  add("s", scales);
  if (blocks.zeros) add("z", zeros);
  if (blocks.turn >= 0) {
    std::vector<int32_t> groups;
    for (int64_t k = 0; k < blocks.columns; ++k)
      groups.push_back(static_cast<int32_t>((k + blocks.turn) % blocks.count()));
    if (!blocks.zeros) inputs.push_back(ir::kNone);
    add("g", tensor(TENON_INT32, {blocks.columns}, groups.data()));
  }
  m.output(
      microsoft(m, "MatMulNBits", inputs, 1,
                {Attribute::of_int("K", blocks.columns), Attribute::of_int("N", 3),
                 Attribute::of_int("bits", blocks.bits), Attribute::of_int("block_size", blocks.size)})[0],
      "y");
  const auto session = make_session(m.bytes());
  return session == nullptr ? std::vector<float>() : floats(run(*session, given)[0]);
}

TEST(ContribForms, QuantizedWeightsOfARunAreThoseOfTheModel) {
  for (const int64_t bits : {2, 4, 8}) {
    for (const int64_t columns : {16, 37}) {
      for (const bool zeros : {false, true}) {
        const Blocks blocks{bits, 16, columns, zeros};
        const std::vector<float> right = quantized_product(blocks, true);
        ASSERT_EQ(right.size(), 6u);
        EXPECT_THAT(quantized_product(blocks, false), Pointwise(FloatNear(1e-3f), right))
            << bits << " bits, " << columns << " columns, " << zeros;
      }
    }
  }
}

TEST(ContribForms, QuantizedWeightsMayHaveGroupsInAnyOrder) {
  for (const bool zeros : {false, true}) {
    Blocks blocks{4, 16, 37, zeros, 0};
    const std::vector<float> right = quantized_product(blocks, true);
    ASSERT_EQ(right.size(), 6u);
    EXPECT_THAT(quantized_product(blocks, false), Pointwise(FloatNear(1e-3f), right)) << zeros;
    blocks.turn = 1;
    EXPECT_NE(quantized_product(blocks, true), right);
    blocks.turn = -1;
    EXPECT_NE(quantized_product(blocks, true), right);
  }
}

TEST(ContribForms, AFusedProductTransposesBatches) {
  for (const bool symbolic : {false, true}) {
    for (const bool matrix : {false, true}) {
      GraphMaker fused, plain;
      const std::vector<int64_t> dims =
          matrix ? std::vector<int64_t>{4, 3, 2} : std::vector<int64_t>{2, 3, 4};
      const auto type = symbolic ? GraphMaker::f32({ir::Dim("a"), ir::Dim("b"), ir::Dim("c")})
                                 : GraphMaker::f32({dims[0], dims[1], dims[2]});
      const auto b = counted(3 * 4 * 5, 0.5f);
      // A [M,B,K] becomes [B,M,K]; with transA it was [K,B,M] before.
      fused.output(
          microsoft(fused, "FusedMatMul", {fused.input("a", type), fused.constant("b", {3, 4, 5}, b)}, 1,
                    {Attribute::of_int("transBatchA", 1), Attribute::of_int("transA", matrix ? 1 : 0),
                     Attribute::of_float("alpha", 0.5f)})[0],
          "y");
      const std::vector<int64_t> perm =
          matrix ? std::vector<int64_t>{1, 2, 0} : std::vector<int64_t>{1, 0, 2};
      const auto turned =
          plain.node("Transpose", {plain.input("a", type)}, {Attribute::of_ints("perm", perm)});
      const auto product = plain.node("MatMul", {turned, plain.constant("b", {3, 4, 5}, b)});
      plain.output(plain.node("Mul", {product, plain.constant("h", {}, {0.5f})}), "y");
      const ValueRef a = f32(dims, counted(24, 1.0f));
      const auto made = make_session(fused.bytes()), right = make_session(plain.bytes());
      ASSERT_TRUE(made != nullptr && right != nullptr);
      const ValueRef y = run(*made, {{"a", a}})[0], wanted = run(*right, {{"a", a}})[0];
      EXPECT_EQ(test::dims(y), test::dims(wanted));
      EXPECT_EQ(floats(y), floats(wanted));
    }
  }
}

ir::Type shape_of(const std::vector<int64_t>& dims, bool symbolic, const std::string& name,
                  ir::ElementType element = ir::ElementType::kFloat32) {
  std::vector<ir::Dim> out;
  for (size_t i = 0; i < dims.size(); ++i)
    out.push_back(symbolic ? ir::Dim(name + std::to_string(i)) : ir::Dim(dims[i]));
  return GraphMaker::type(element, out);
}

std::vector<float> attention(bool symbolic, const std::vector<int32_t>& lengths) {
  GraphMaker m;
  const auto x = m.input("x", shape_of({2, 3, 4}, symbolic, "x"));
  const auto w = m.input("w", shape_of({4, 12}, symbolic, "w"));
  const auto b = m.input("b", shape_of({12}, symbolic, "b"));
  const auto mask = m.input("m", shape_of({2}, symbolic, "m", ir::ElementType::kInt32));
  m.output(microsoft(m, "Attention", {x, w, b, mask}, 1, {Attribute::of_int("num_heads", 2)})[0], "y");
  const auto session = make_session(m.bytes());
  if (session == nullptr) return {};
  std::vector<ValueRef> outputs(1);
  const Status status =
      session->run({},
                   std::vector<session::NamedValue>{
                       {"x", f32({2, 3, 4}, counted(24, 0.3f))},
                       {"w", f32({4, 12}, counted(48, 0.2f))},
                       {"b", f32({12}, counted(12, 0.1f))},
                       {"m", tensor(TENON_INT32, {static_cast<int64_t>(lengths.size())}, lengths.data())}},
                   {}, outputs);
  if (!status.ok()) return {};
  EXPECT_EQ(dims(outputs[0]), (std::vector<int64_t>{2, 3, 4}));
  return floats(outputs[0]);
}

TEST(ContribForms, AttentionOfSymbolicShapes) {
  const std::vector<float> right = attention(false, {3, 2});
  ASSERT_EQ(right.size(), 24u);
  EXPECT_THAT(attention(true, {3, 2}), Pointwise(FloatNear(1e-5f), right));
  EXPECT_TRUE(attention(true, {3, 2, 0, 0}).empty())
      << "begins and ends of the batch are another form of mask";
}

std::vector<float> multi_head_attention(bool symbolic) {
  GraphMaker m;
  const auto query = m.input("q", shape_of({2, 3, 4}, symbolic, "q"));
  const auto key = m.input("k", shape_of({2, 5, 4}, symbolic, "k"));
  const auto value = m.input("v", shape_of({2, 5, 6}, symbolic, "v"));
  const auto bias = m.input("b", shape_of({14}, symbolic, "b"));
  m.output(microsoft(m, "MultiHeadAttention", {query, key, value, bias}, 1,
                     {Attribute::of_int("num_heads", 2)})[0],
           "y");
  const auto session = make_session(m.bytes());
  if (session == nullptr) return {};
  const ValueRef y = run(*session, {{"q", f32({2, 3, 4}, counted(24, 0.3f))},
                                    {"k", f32({2, 5, 4}, counted(40, 0.2f))},
                                    {"v", f32({2, 5, 6}, counted(60, 0.1f))},
                                    {"b", f32({14}, counted(14, 0.05f))}})[0];
  EXPECT_EQ(dims(y), (std::vector<int64_t>{2, 3, 6}));
  return floats(y);
}

TEST(ContribForms, MultiHeadAttentionOfSymbolicShapes) {
  const std::vector<float> right = multi_head_attention(false);
  ASSERT_EQ(right.size(), 36u);
  EXPECT_THAT(multi_head_attention(true), Pointwise(FloatNear(1e-5f), right));
}

/// What an emitter refused has no type, and nobody may ask for it: here scales that cannot be multiplied.
TEST(ContribForms, ScalesThatDoNotFitAreAnError) {
  GraphMaker m;
  const auto a = m.input("a", GraphMaker::type(ir::ElementType::kUInt8, {3, 4}));
  const ValueRef b = bytes({4, 5}, 20);
  const auto weights = m.graph.add_constant("b", *runtime::tensor_of(b));
  m.output(microsoft(m, "MatMulIntegerToFloat",
                     {a, weights, m.constant("s", {0}, {}), m.constant("t", {5}, {1, 1, 1, 1, 1})}, 1, {})[0],
           "y");
  const auto refused = try_session(m.bytes());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().to_string(), HasSubstr("MatMulIntegerToFloat"));
}

TEST(ContribForms, GroupNorm) {
  // Two pixels of two channels, each a group: -1 and 1, then scaled and shifted.
  const std::vector<float> plain = {-1, -1, 1, 3};
  for (const bool last : {true, false}) {
    for (const int64_t activation : {0, 1}) {
      GraphMaker m;
      const auto x = m.input(
          "x", GraphMaker::f32(last ? std::vector<ir::Dim>{1, 1, 2, 2} : std::vector<ir::Dim>{1, 2, 1, 2}));
      m.output(
          microsoft(m, "GroupNorm", {x, m.constant("gamma", {2}, {1, 2}), m.constant("beta", {2}, {0, 1})}, 1,
                    {Attribute::of_int("groups", 2), Attribute::of_int("activation", activation),
                     Attribute::of_int("channels_last", last ? 1 : 0), Attribute::of_float("epsilon", 0)})[0],
          "y");
      std::vector<float> wanted = last ? plain : std::vector<float>{plain[0], plain[2], plain[1], plain[3]};
      for (float& value : wanted) value *= activation == 0 ? 1 : 1 / (1 + std::exp(-value));
      const std::vector<float> given = last ? std::vector<float>{1, 2, 3, 4} : std::vector<float>{1, 3, 2, 4};
      const auto session = make_session(m.bytes());
      ASSERT_NE(session, nullptr);
      const std::vector<int64_t> dims =
          last ? std::vector<int64_t>{1, 1, 2, 2} : std::vector<int64_t>{1, 2, 1, 2};
      EXPECT_THAT(floats(run(*session, {{"x", f32(dims, given)}})[0]), Pointwise(FloatNear(1e-5f), wanted));
    }
  }
}

TEST(ContribForms, BiasSoftmaxGoesOverAllDimsFromItsAxis) {
  for (const int64_t axis : {1, 2}) {
    GraphMaker m;
    const auto x = m.input("x", GraphMaker::f32({1, 2, 2}));
    m.output(microsoft(m, "BiasSoftmax", {x, m.constant("bias", {1, 1, 2}, {0, std::log(3.0f)})}, 1,
                       {Attribute::of_int("axis", axis), Attribute::of_int("is_inner_broadcast", 0)})[0],
             "y");
    const auto session = make_session(m.bytes());
    ASSERT_NE(session, nullptr);
    const float sum = axis == 1 ? 8 : 4;
    EXPECT_THAT(floats(run(*session, {{"x", f32({1, 2, 2}, {0, 0, 0, 0})}})[0]),
                Pointwise(FloatNear(1e-6f), std::vector<float>{1 / sum, 3 / sum, 1 / sum, 3 / sum}));
  }
}

/// What has no form says so beside "no provider runs", which alone would not help.
TEST(ContribForms, TheReasonIsTold) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({1, 2, 4}));
  m.output(microsoft(m, "Attention", {x, m.constant("w", {4, 12}, counted(48, 0.1f))}, 1,
                     {Attribute::of_int("num_heads", 1), Attribute::of_int("do_rotary", 1)})[0],
           "y");
  const Status status = try_session(m.bytes()).status();
  EXPECT_EQ(status.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(status.to_string(), HasSubstr("attribute do_rotary is set"));
  EXPECT_THAT(status.to_string(), HasSubstr("export RotaryEmbedding before MultiHeadAttention"));
}

TEST(ContribForms, AnUnknownRankIsNamedWithTheCure) {
  GraphMaker m;
  const auto query = m.input("q", GraphMaker::f32({1, 2, 4})), key = m.input("k", GraphMaker::f32({1, 2, 4}));
  const auto value = m.input("v", ir::Type::tensor(ir::ElementType::kFloat32));
  m.output(microsoft(m, "MultiHeadAttention", {query, key, value}, 1, {Attribute::of_int("num_heads", 1)})[0],
           "y");
  const Status status = try_session(m.bytes()).status();
  EXPECT_THAT(status.to_string(), HasSubstr("the rank of input 2 is not known"));
  EXPECT_THAT(status.to_string(), HasSubstr("declare the shapes"));
}

}  // namespace
}  // namespace tenon::test
