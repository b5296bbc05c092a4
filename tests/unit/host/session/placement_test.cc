// Placement rules of the config, from the file to the part that runs a node.
#include <gmock/gmock.h>

#include <map>

#include "host/session/describe.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

using testing::HasSubstr;

/// add (Add) -> abs (Abs, which the accelerator does not know) -> relu (Relu)
std::string model() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2}));
  const auto sum = m.node("Add", {x, x}, {}, "add");
  m.output(m.node("Relu", {m.node("Abs", {sum}, {}, "abs")}, {}, "relu"), "y");
  return m.bytes();
}

config::Config with_rules(const std::string& rules) {
  config::Config config = config_for({fakes_dir() + "/accelerator", providers_dir()}, {"cpu", "accelerator"});
  const Status status = config.apply_toml(rules, "rules.toml");
  EXPECT_TRUE(status.ok()) << status.to_string();
  return config;
}

/// Who runs each node.
std::map<std::string, std::string> placed(const session::Session& session) {
  std::map<std::string, std::string> out;
  const auto json = session::explain(session);
  for (const auto& node : json["nodes"])
    out[node["name"].get<std::string>()] = node["provider"].get<std::string>();
  return out;
}

TEST(Placement, ANodeGoesWhereTheRuleSays) {
  const auto session = make_session(
      model(), with_rules("[[placement]]\nmatch = { op = ['Relu'] }\nprovider = 'accelerator'\n"));
  ASSERT_NE(session, nullptr);
  const auto who = placed(*session);
  EXPECT_EQ(who.at("add"), "cpu");
  EXPECT_EQ(who.at("relu"), "accelerator");
  EXPECT_EQ(floats(run(*session, {{"x", f32({2}, {-1, 2})}})[0]), (std::vector<float>{2, 4}));
}

TEST(Placement, WhatTheNamedProviderDeclinesGoesToAnother) {
  const auto session = make_session(
      model(), with_rules("[[placement]]\nmatch = { op = ['Abs'] }\nprovider = 'accelerator'\n"));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(placed(*session).at("abs"), "cpu");
}

TEST(Placement, UnlessTheRuleIsRequired) {
  const auto session = try_session(
      model(),
      with_rules("[[placement]]\nmatch = { op = ['Abs'] }\nprovider = 'accelerator'\nrequired = true\n"));
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(session.error().to_string(), HasSubstr("'abs'"));
  EXPECT_THAT(session.error().to_string(), HasSubstr("requires provider 'accelerator'"));
  EXPECT_THAT(session.error().to_string(), HasSubstr("operator Abs is not implemented"));
}

}  // namespace
}  // namespace tenon::test
