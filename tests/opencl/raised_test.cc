// Quantised groups on a provider that has the nodes of a QLinearConv and not the operator.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/explained.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

using Id = GraphMaker::Id;
using ir::ElementType;

ir::TensorPtr bytes_of(ElementType type, const std::vector<int64_t>& dims, int step) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(i * step % 100));
  return *ir::Tensor::make(type, dims, std::move(bytes));
}

/// x -> Conv -> MaxPool and an Add beside it, all quantised.
std::string model() {
  GraphMaker m;
  const Id scale = m.constant("scale", {}, {0.02f});
  const Id zero = m.graph.add_constant("zero", bytes_of(ElementType::kUInt8, {}, 0));
  const Id x = m.input("x", GraphMaker::type(ElementType::kUInt8, {2, 3, 8, 8}));
  const auto real = [&](Id value) { return m.node("DequantizeLinear", {value, scale, zero}); };
  const auto quantized = [&](Id value) { return m.node("QuantizeLinear", {value, scale, zero}); };
  const Id weights = m.graph.add_constant("w", bytes_of(ElementType::kInt8, {5, 3, 3, 3}, 37));
  const Id w = m.node("DequantizeLinear", {weights, m.constant("w_scale", {}, {0.003f})});
  const Id real_x = real(x);
  const Id y = real(quantized(m.node("Relu", {m.node("Conv", {real_x, w})})));
  m.output(quantized(m.node("MaxPool", {y}, {ir::Attribute::of_ints("kernel_shape", {2, 2})})), "pooled");
  m.output(m.node("Add", {real_x, real_x}), "sum");
  return m.bytes(21);
}

std::vector<std::string> runners(const session::Session& session) {
  std::vector<std::string> out;
  const auto json = explained(session);
  for (const auto& node : json["nodes"])
    out.push_back(node["provider"].get<std::string>() + " " + node["op"].get<std::string>() + " " +
                  node["name"].get<std::string>());
  std::sort(out.begin(), out.end());
  return out;
}

TEST(OpenClRaised, RunsTheSameNodesAsWithoutRaising) {
  config::Config config = config_for({providers_dir()}, {"opencl", "cpu"}), off = config;
  ASSERT_TRUE(off.set("transforms.disable", R"(["quantized_conv"])").ok());
  const auto with = make_session(model(), config), without = make_session(model(), off);
  ASSERT_TRUE(with != nullptr && without != nullptr);
  EXPECT_EQ(runners(*with), runners(*without));
  EXPECT_THAT(runners(*with), ::testing::Contains(::testing::StartsWith("opencl Conv ")));
  EXPECT_THAT(runners(*with), ::testing::Contains("opencl MaxPool QuantizeLinear_7"));
  EXPECT_THAT(runners(*with), ::testing::Each(::testing::StartsWith("opencl ")));
  EXPECT_EQ(explained(*with)["parts"].size(), explained(*without)["parts"].size());
  const auto cpu = make_session(model());
  ASSERT_NE(cpu, nullptr);
  EXPECT_THAT(runners(*cpu), ::testing::Contains(::testing::StartsWith("cpu QLinearConv ")));
  EXPECT_THAT(runners(*cpu), ::testing::Contains("cpu MaxPool QuantizeLinear_7"));
}

}  // namespace
}  // namespace tenon::test
