// Placement rules of the config, from the file to the part that runs a node.
#include <gmock/gmock.h>

#include <map>

#include "host/session/describe.h"
#include "tests/support/explained.h"
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
  const auto json = explained(session);
  for (const auto& node : json["nodes"])
    out[node["name"].get<std::string>()] = node["provider"].get<std::string>();
  return out;
}

/// One set of rules and what follows: who runs each node, or what the error says.
struct Row {
  const char* name;
  const char* rules;
  std::map<std::string, std::string> placed;
  std::vector<const char*> error = {};
};

class PlacementRules : public testing::TestWithParam<Row> {};

TEST_P(PlacementRules, AreFollowed) {
  const Row& row = GetParam();
  const auto session = try_session(model(), with_rules(row.rules));
  if (row.error.empty()) {
    ASSERT_TRUE(session.ok()) << session.error().to_string();
    EXPECT_EQ(placed(**session), row.placed);
    EXPECT_EQ(floats(run(**session, {{"x", f32({2}, {-1, 2})}})[0]), (std::vector<float>{2, 4}));
    return;
  }
  ASSERT_FALSE(session.ok());
  for (const char* text : row.error) EXPECT_THAT(session.error().to_string(), HasSubstr(text));
}

const std::map<std::string, std::string> kAllCpu = {{"add", "cpu"}, {"abs", "cpu"}, {"relu", "cpu"}};
const std::map<std::string, std::string> kAddAway = {{"add", "accelerator"}, {"abs", "cpu"}, {"relu", "cpu"}};
const std::map<std::string, std::string> kReluAway = {
    {"add", "cpu"}, {"abs", "cpu"}, {"relu", "accelerator"}};

#define RULE(match, provider) "[[placement]]\nmatch = { " match " }\nprovider = '" provider "'\n"
#define REQUIRED(match, provider) RULE(match, provider) "required = true\n"
const Row kRows[] = {
    {"no_rule", "", kAllCpu},
    {"by_operator", RULE("op = 'Add'", "accelerator"), kAddAway},
    {"by_operator_of_its_domain", RULE("op = ['ai.onnx:Add']", "accelerator"), kAddAway},
    {"operator_of_another_domain", RULE("op = ['com.microsoft:Add']", "accelerator"), kAllCpu},
    {"by_a_list_of_operators", RULE("op = ['Sub', 'Relu']", "accelerator"), kReluAway},
    {"by_name", RULE("node = 'relu'", "accelerator"), kReluAway},
    {"by_a_pattern_of_names", RULE("node = 'r.*u'", "accelerator"), kReluAway},
    {"a_pattern_means_the_whole_name", RULE("node = 'rel'", "accelerator"), kAllCpu},
    {"by_name_and_operator", RULE("node = 'a.*', op = 'Add'", "accelerator"), kAddAway},
    {"both_must_hold", RULE("node = 'relu', op = 'Add'", "accelerator"), kAllCpu},
    {"by_model", RULE("model = 'model*', op = 'Add'", "accelerator"), kAddAway},
    {"of_another_model", RULE("model = 'bert*', op = 'Add'", "accelerator"), kAllCpu},
    {"the_first_match_decides", RULE("node = 'add'", "cpu") RULE("op = ['Add', 'Relu']", "accelerator"),
     kReluAway},
    {"also_over_a_later_required_one", RULE("op = 'Add'", "cpu") REQUIRED("node = 'add'", "accelerator"),
     kAllCpu},
    {"to_a_device", RULE("op = 'Add'", "accelerator/npu:0"), kAddAway},
    {"to_a_device_that_is_not_used", RULE("op = 'Add'", "accelerator/npu:1"), kAllCpu},
    {"declined_and_not_required", RULE("op = 'Abs'", "accelerator"), kAllCpu},
    {"required_and_followed", REQUIRED("op = 'Relu'", "accelerator"), kReluAway},
    {"required_and_declined",
     RULE("op = 'Add'", "cpu") REQUIRED("op = 'Abs'", "accelerator"),
     {},
     {"node 'abs' (Abs)", "rules.toml:4", "requires provider 'accelerator'",
      "operator Abs is not implemented"}},
    {"required_and_not_there",
     REQUIRED("node = 'relu'", "accelerator/npu:1"),
     {},
     {"node 'relu' (Relu)", "rules.toml:1", "accelerator/npu:1", "name it in select.order"}},
};
INSTANTIATE_TEST_SUITE_P(All, PlacementRules, testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tenon::test
