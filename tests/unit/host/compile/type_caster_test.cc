// float16 models on an accelerator that knows float32 alone.
#include "host/compile/type_caster.h"

#include <gmock/gmock.h>

#include <map>

#include "host/session/describe.h"
#include "tenon/ep/numeric.hpp"
#include "tests/support/explained.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

ValueRef halves(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  std::vector<uint16_t> bits;
  for (const float value : values) bits.push_back(ep::Float16(value).bits);
  return tensor(TENON_FLOAT16, dims, bits.data());
}

/// add, mul (the accelerator's in float32) -> abs (never its own) -> relu; all of float16.
std::string model() {
  GraphMaker m;
  const auto f16 = GraphMaker::type(ir::ElementType::kFloat16, {4});
  const auto x = m.input("x", f16);
  const auto sum = m.node("Add", {x, x}, {}, "add");
  const auto abs = m.node("Abs", {m.node("Mul", {sum, x}, {}, "mul")}, {}, "abs");
  m.output(m.node("Relu", {abs}, {}, "relu"), "y", f16);
  return m.bytes();
}

config::Config with(const std::string& text) {
  config::Config config = config_for({fakes_dir() + "/accelerator", providers_dir()}, {"accelerator", "cpu"});
  const Status status = config.apply_toml(text, "test.toml");
  EXPECT_TRUE(status.ok()) << status.to_string();
  return config;
}

std::map<std::string, int> count_by_runner(const session::Session& session) {
  std::map<std::string, int> out;
  const auto json = explained(session);
  for (const auto& node : json["nodes"])
    ++out[node["provider"].get<std::string>() + " " + node["op"].get<std::string>()];
  return out;
}

TEST(TypeCaster, WithoutTheKeyTypesAreKept) {
  const auto session = make_session(model(), with(""));
  ASSERT_NE(session, nullptr);
  const auto json = explained(*session);
  for (const auto& node : json["nodes"]) {
    EXPECT_EQ(node["provider"], "cpu");
    EXPECT_EQ(node["declines"][0]["code"], node["op"] == "Abs" ? "operator" : "type");
  }
}

TEST(TypeCaster, NodesGoThereInFloat32BetweenCasts) {
  const auto session = make_session(model(), with("precision.widen = true"));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(count_by_runner(*session), (std::map<std::string, int>{{"accelerator Add", 1},
                                                                   {"accelerator Mul", 1},
                                                                   {"accelerator Relu", 1},
                                                                   {"cpu Abs", 1},
                                                                   {"cpu Cast", 4}}));
  EXPECT_EQ(session->inputs()[0].type.element, ir::ElementType::kFloat16);
  EXPECT_EQ(session->outputs()[0].type.element, ir::ElementType::kFloat16);
  const std::vector<session::NamedValue> inputs = {{"x", halves({4}, {1, -2, 0.5F, 100})}};
  const auto got = run(*session, inputs), wanted = run(*make_session(model()), inputs);
  EXPECT_EQ(elements<uint16_t>(got[0]), elements<uint16_t>(wanted[0]));
}

TEST(TypeCaster, WhatItWouldNotTakeAnywayIsNotChanged) {
  const auto session = make_session(model(), with("precision.widen = true\n[provider.accelerator.options]\n"
                                                  "ops = 'Relu'\n"));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(count_by_runner(*session),
            (std::map<std::string, int>{
                {"accelerator Relu", 1}, {"cpu Abs", 1}, {"cpu Add", 1}, {"cpu Cast", 2}, {"cpu Mul", 1}}));
}

TEST(TypeCaster, ALostAcceleratorLeavesNoCastsBehind) {
  const auto session =
      make_session(model(), with("precision.widen = true\n[provider.accelerator.options]\nfault = 'lost'\n"));
  ASSERT_NE(session, nullptr);
  const auto y = run(*session, {{"x", halves({4}, {1, -2, 0.5F, 100})}});
  EXPECT_EQ(elements<uint16_t>(y[0]), elements<uint16_t>(halves({4}, {2, 8, 0.5F, 20000})));
  EXPECT_EQ(count_by_runner(*session).count("cpu Cast"), 0u);
}

}  // namespace
}  // namespace tenon::test
