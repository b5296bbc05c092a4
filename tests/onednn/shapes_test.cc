// Shapes that do not fit, from models and from inputs of a Run: declined with a reason, or an error that names the operator, and
// never a read beyond a tensor. And shapes that fit, in layouts that mislead.
#include "tests/onednn/onednn_case.h"
#include "tests/support/explained.h"

namespace tenon::test {
namespace {

using ir::Attribute;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(OneDnnShapes, AxesOfOneElementMisleadNobody) {
  const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> rows = {
      {{1, 1, 100, 257}, {0, 2, 1, 3}}, {{1, 1, 16, 64}, {0, 2, 1, 3}}, {{1, 7, 1, 5}, {0, 3, 1, 2}},
      {{3, 1, 4}, {2, 1, 0}},           {{1, 6, 1, 1}, {3, 2, 1, 0}},   {{2, 1, 1, 9}, {1, 3, 0, 2}}};
  std::mt19937 random(1);
  for (const auto& [shape, perm] : rows) {
    GraphMaker m;
    const Id x = m.input("x", GraphMaker::f32({shape.begin(), shape.end()}));
    const Id turned = m.node("Transpose", {x}, {Attribute::of_ints("perm", perm)});
    m.output(m.node("Mul", {turned, m.node("Sigmoid", {turned})}), "silu");
    m.output(m.node("Mul", {turned, m.constant("c", {1}, {2})}), "twice");
    const ValueRef value = image(random, shape);
    compare(m.bytes(), {{"x", value}}, onednn(), 1e-5f, testing::PrintToString(shape));
  }
}

TEST(OneDnnShapes, AReshapeOfOtherLengthIsAnError) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({ir::Dim("n"), ir::Dim("m")}));
  m.output(m.node("Relu", {m.node("Reshape", {x, m.ints("shape", {300, 300})})}), "y");
  const auto session = make_session(m.bytes(), onednn());
  ASSERT_NE(session, nullptr);
  std::vector<ValueRef> outputs(1);
  const Status status = session->run({}, {{{"x", f32({2, 2}, {1, 2, 3, 4})}}}, {}, outputs);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.to_string(), HasSubstr("Reshape"));
}

/// The reason why onednn left the only node of this operator.
std::string decline_of(const std::string& bytes, const std::string& op) {
  const auto session = make_session(bytes, onednn());
  if (session == nullptr) return "no session";
  const auto json = explained(*session);
  for (const auto& node : json["nodes"]) {
    if (node["op"] != op) continue;
    for (const auto& decline : node["declines"]) return decline["text"];
  }
  return "not declined";
}

TEST(OneDnnShapes, ABoundOfManyNumbersIsLeftToOthers) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({2, 3}));
  m.output(m.node("Pow", {x, m.constant("two", {2, 3}, {2, 2, 2, 2, 2, 2})}), "y");
  EXPECT_THAT(decline_of(m.bytes(), "Pow"), AllOf(HasSubstr("input 1 (Y)"), HasSubstr("{2, 3}")));
}

/// A value laid side by side with itself.
std::string concat_of(size_t count) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({1, 2}));
  m.output(m.node("Concat", std::vector<Id>(count, x), {ir::Attribute::of_int("axis", 0)}), "y");
  return m.bytes();
}

TEST(OneDnnShapes, MoreInputsThanTheLibraryCountsAreLeftToOthers) {
  EXPECT_THAT(decline_of(concat_of(1025), "Concat"), HasSubstr("1025 inputs"));
  const auto session = make_session(concat_of(1024), onednn());
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(explained(*session)["nodes"][0]["declines"].empty());
  std::vector<ValueRef> outputs(1);
  const Status status = session->run({}, {{{"x", f32({1, 2}, {1, 2})}}}, {}, outputs);
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(OneDnnShapes, AScaleThatMayBeRepeatedIsLeftToOthers) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({ir::Dim("n"), ir::Dim("m")})),
           scale = m.input("scale", GraphMaker::f32({ir::Dim("k")}));
  m.output(m.node("LayerNormalization", {x, scale}), "y");
  EXPECT_THAT(decline_of(m.bytes(), "LayerNormalization"), HasSubstr("unknown dims that can be 1"));
}

TEST(OneDnnShapes, AWindowBehindTheEndIsLeftToOthers) {
  const auto decline = [](ir::Dim length, int64_t stride) {
    GraphMaker m;
    const Id x = m.input("x", GraphMaker::f32({1, 1, length}));
    m.output(m.node("MaxPool", {x},
                    {Attribute::of_ints("kernel_shape", {2}), Attribute::of_ints("strides", {stride}),
                     Attribute::of_ints("pads", {0, 1}), Attribute::of_int("ceil_mode", 1)}),
             "y");
    return decline_of(m.bytes(), "MaxPool");
  };
  EXPECT_EQ(decline(3, 2), "not declined");
  EXPECT_THAT(decline(ir::Dim("n"), 2), HasSubstr("outside"));
}

TEST(OneDnnShapes, ChainsOverEmptyTensorsGiveEmptyOnes) {
  for (const int64_t n : {0, 1, 3}) {
    GraphMaker m;
    const Id x = m.input("x", GraphMaker::f32({ir::Dim("n"), 4}));
    const Id y = m.node("Concat", {m.node("Relu", {x}), m.node("Transpose", {m.node("Transpose", {x})})},
                        {Attribute::of_int("axis", 0)});
    m.output(m.node("MatMul", {y, m.constant("w", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}), "y");
    m.output(m.node("ReduceSum", {y}), "sum");
    std::mt19937 random(3);
    compare(m.bytes(), {{"x", image(random, {n, 4})}}, onednn(), 1e-5f, std::to_string(n));
  }
}

TEST(OneDnnShapes, WhatIsTooSmallIsLeftToTheCpuProviderWithTheEstimate) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({1, 8}));
  m.output(m.node("Tanh", {x}), "y");
  auto config = onednn({"provider.onednn.options.claim=worthwhile"});
  const auto session = make_session(m.bytes(), config);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(nodes_on(*session, "onednn"), 0u);
  const auto decline = explained(*session)["nodes"][0]["declines"][0];
  EXPECT_EQ(decline["code"], "cost");
  EXPECT_THAT(decline["text"].get<std::string>(), AllOf(HasSubstr(" us"), HasSubstr("claim")));
}

TEST(OneDnnShapes, WhatIsTooSmallIsMeasuredAllTheSame) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({1, 8}));
  m.output(m.node("Tanh", {x}), "y");
  const auto session = make_session(
      m.bytes(), onednn({"provider.onednn.options.claim=worthwhile", "select.record_times=true"}));
  ASSERT_NE(session, nullptr);
  const auto report = explained(*session);
  std::vector<std::string> ways;
  for (const auto& way : report["candidates"]) ways.push_back(way["name"]);
  EXPECT_THAT(ways, ElementsAre("order", HasSubstr("onednn"))) << "the order is as if cpu were first";
}

TEST(OneDnnShapes, ConvolutionsAreLeftToIslandsOfTheCpuProvider) {
  std::mt19937 random(4);
  GraphMaker m;
  Id x = m.input("x", GraphMaker::f32({1, 16, 32, 32}));
  for (int i = 0; i < 3; ++i) x = m.node("Relu", {conv(m, random, x, 16, 16, 3)});
  m.output(m.node("Flatten", {x}), "y");
  const auto session = make_session(m.bytes(), onednn({"provider.onednn.options.claim=worthwhile"}));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(nodes_on(*session, "onednn"), 0u);
  EXPECT_EQ(parts_of(*session, "cpu"), 1u);
}

std::string products(std::mt19937& random) {
  GraphMaker m;
  Id x = m.input("x", GraphMaker::f32({1, 64, 256}));
  for (int i = 0; i < 3; ++i) {
    const Id w = m.constant("w" + std::to_string(i), {256, 256}, noise(random, 256 * 256));
    x = m.node("Relu", {m.node("MatMul", {x, w})});
  }
  m.output(x, "y");
  return m.bytes();
}

TEST(OneDnnShapes, ProductsAreLeftToIslandsOfTheCpuProviderButInBFloat16) {
  std::mt19937 random(4);
  const std::string bytes = products(random);
  const auto exact = make_session(bytes, onednn({"provider.onednn.options.claim=worthwhile"}));
  ASSERT_NE(exact, nullptr);
  EXPECT_EQ(nodes_on(*exact, "onednn"), 0u);
  const auto rough =
      make_session(bytes, onednn({"provider.onednn.options.claim=worthwhile", "precision.default=bf16"}));
  ASSERT_NE(rough, nullptr);
  EXPECT_EQ(nodes_on(*rough, "onednn"), __builtin_cpu_supports("avx512bf16") ? 6u : 0u);
}

/// Attention of one head, with a product before it that is worth the provider in bfloat16.
std::string attention(std::mt19937& random, int64_t keys) {
  GraphMaker m;
  const auto heads = [&](const char* name) {
    const Id x = m.input(name, GraphMaker::f32({1, 1, keys, 256}));
    return m.node("MatMul",
                  {x, m.constant(std::string("w") + name, {256, 256}, noise(random, 256 * 256, 0.05f))});
  };
  const Id turned = m.node("Transpose", {heads("k")}, {Attribute::of_ints("perm", {0, 1, 3, 2})});
  const Id scores =
      m.node("Mul", {m.node("MatMul", {heads("q"), turned}), m.constant("scale", {}, {0.0625f})});
  m.output(m.node("MatMul", {m.node("Softmax", {scores}), heads("v")}), "y");
  return m.bytes(23);
}

TEST(OneDnnShapes, AttentionInBFloat16IsLeftToTheCpuProviderIfItHasManyKeys) {
  if (!__builtin_cpu_supports("avx512bf16")) return;  // this provider then claims none of these nodes
  std::mt19937 random(4);
  const auto session_with = [&](int64_t keys, const char* claim) {
    return make_session(
        attention(random, keys),
        onednn({std::string("provider.onednn.options.claim=") + claim, "precision.default=bf16"}));
  };
  for (const int64_t many : {100, 256}) {
    const auto session = session_with(many, "worthwhile");
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(nodes_on(*session, "cpu"), 1u) << "the raised Attention";
    const auto all = session_with(many, "all");
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(nodes_on(*all, "cpu"), 0u);
  }
  const auto few = session_with(99, "worthwhile");
  ASSERT_NE(few, nullptr);
  EXPECT_EQ(nodes_on(*few, "cpu"), 0u);
  std::mt19937 noise_of(5);
  const std::vector<session::NamedValue> inputs{{"k", image(noise_of, {1, 1, 256, 256})},
                                                {"q", image(noise_of, {1, 1, 256, 256})},
                                                {"v", image(noise_of, {1, 1, 256, 256})}};
  compare(attention(random, 256), inputs,
          onednn({"provider.onednn.options.claim=worthwhile", "precision.default=bf16"}), 2e-2f, "bf16");
}

TEST(OneDnnShapes, WhatIsWorthItIsTakenAsAWhole) {
  std::mt19937 random(4);
  GraphMaker m;
  Id x = m.input("x", GraphMaker::f32({1, 16, 8, 16, 16}));
  for (int i = 0; i < 3; ++i) {
    const Id w = m.constant("w" + std::to_string(i), {16, 16, 3, 3, 3}, noise(random, 16 * 16 * 27));
    x = m.node("Relu", {m.node("Conv", {x, w}, {Attribute::of_ints("pads", {1, 1, 1, 1, 1, 1})})});
  }
  m.output(m.node("Flatten", {x}), "y");
  const auto session = make_session(m.bytes(), onednn({"provider.onednn.options.claim=worthwhile"}));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(parts_of(*session, "onednn"), 1u);
  EXPECT_EQ(nodes_on(*session, "cpu"), 0u);
}

}  // namespace
}  // namespace tenon::test
