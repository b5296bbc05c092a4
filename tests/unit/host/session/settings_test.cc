// Settings that are seen only from inside the process: several Runs, several sessions, what is ready before a Run.
// tests/cli/run_settings.py has the row of each key, and runs these by name.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "host/base/log.h"
#include "host/device/host_api.h"
#include "host/exec/frame_pool.h"
#include "host/session/describe.h"
#include "tests/support/explained.h"
#include "tests/unit/host/session/session_case.h"
#include "tests/unit/host/session/versions_case.h"

namespace tenon::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// y = relu(x + w); x is [n, 2], w is [n, 2].
std::string two_inputs() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 2}));
  const auto w = m.input("w", GraphMaker::f32({ir::Dim("n"), 2}));
  m.output(m.node("Relu", {m.node("Add", {x, w}, {}, "add")}, {}, "relu"), "y");
  return m.bytes();
}

config::Config static_accelerator(const std::string& more) {
  config::Config config = config_for({fakes_dir() + "/accelerator", providers_dir()}, {"accelerator", "cpu"});
  const Status status =
      config.apply_toml("provider.accelerator.options.static_claims = true\n" + more, "test.toml");
  EXPECT_TRUE(status.ok()) << status.to_string();
  return config;
}

size_t plans(const session::Session& session) {
  size_t count = 0;
  session.assembly()->executable->frames().for_each_plan([&](const runtime::Plan&) { ++count; });
  return count;
}

void run_with(session::Session& session, int64_t n) {
  const std::vector<float> ones(static_cast<size_t>(2 * n), 1);
  EXPECT_THAT(floats(run(session, {{"x", f32({n, 2}, ones)}, {"w", f32({n, 2}, ones)}})[0]),
              testing::Each(2));
}

size_t plans_after_two_shapes(const std::string& keep) {
  const auto session = make_session(two_inputs(), static_accelerator("shapes.keep = " + keep));
  run_with(*session, 3);
  run_with(*session, 4);
  return plans(*session);
}

TEST(Settings, KeepHoldsSoManyPlans) {
  EXPECT_EQ(plans_after_two_shapes("1"), 1u);
  EXPECT_EQ(plans_after_two_shapes("2"), 2u);
}

TEST(Settings, InputShapesAreReadyBeforeTheFirstRun) {
  EXPECT_EQ(plans(*make_session(two_inputs(), static_accelerator(""))), 0u);
  const auto session = make_session(two_inputs(), static_accelerator("shapes.input = [[3, 2], [4, 2]]"));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(plans(*session), 2u) << "w follows from n";
  run_with(*session, 3);
  run_with(*session, 4);
  EXPECT_EQ(plans(*session), 2u);
  run_with(*session, 5);
  EXPECT_EQ(plans(*session), 3u);
}

/// What is compiled while the session is made: the fault comes then, and not at the Run.
TEST(Settings, InputShapesAreCompiledAtLoad) {
  const std::string fault =
      "provider.accelerator.options.fault = 'compile'\nprovider.accelerator.on_lost = 'fail'\n";
  EXPECT_TRUE(try_session(two_inputs(), static_accelerator(fault)).ok());
  const auto session = try_session(two_inputs(), static_accelerator(fault + "shapes.input = [[3, 2]]"));
  ASSERT_FALSE(session.ok());
  EXPECT_THAT(session.error().to_string(), HasSubstr("injected fault 'compile'"));
}

TEST(Settings, InputShapesThatDoNotFitAreConfigErrors) {
  const std::pair<const char*, const char*> rows[] = {
      {"[[3]]", "gives input 'x' the shape [3], but its type is float32[n,2]"},
      {"[[3, 4]]", "gives input 'x' the shape [3,4]"},
      {"{ X = [[3, 2]] }", "names 'X': the model has no input 'X' (did you mean 'x'?)"},
      {"{ x = [[3, 2]], w = [[4, 2]] }", "dim 'n' is 3 in input 'x'"},
      {"[[4611686018427387904, 2]]", "gives input 'x' the shape"},
      {"[[1, 2], [2, 2], [3, 2]]", "lists 3 sets of shapes, but shapes.keep = 2"}};
  for (const auto& [shapes, text] : rows) {
    const auto session = try_session(
        two_inputs(), static_accelerator(std::string("shapes.keep = 2\nshapes.input = ") + shapes));
    ASSERT_FALSE(session.ok()) << shapes;
    EXPECT_EQ(session.error().kind(), ErrorKind::kConfig);
    EXPECT_THAT(session.error().to_string(), HasSubstr("test.toml:3: 'shapes.input' "));
    EXPECT_THAT(session.error().to_string(), HasSubstr(text));
  }
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n")})),
             free = m.input("free", GraphMaker::f32({ir::Dim("k")}));
  m.output(m.node("Concat", {x, free}, {ir::Attribute::of_int("axis", 0)}), "y");
  EXPECT_THAT(try_session(m.bytes(), static_accelerator("shapes.input = [[3]]")).error().to_string(),
              HasSubstr("gives no shape for input 'free' (float32[k]), and its dims cannot be derived"));
}

/// A session made with `mode`, and the version of the accelerator in it.
std::string version_with(const std::string& folder, const std::string& mode, const std::string& more = {}) {
  config::Config config = config_for({folder, providers_dir()}, {"accelerator", "cpu"});
  EXPECT_TRUE(config.apply_toml("upgrade.mode = '" + mode + "'\n" + more, "test.toml").ok());
  const auto session = try_session(two_inputs(), config);
  if (!session.ok()) return session.error().to_string();
  run_with(**session, 3);
  return version_in(**session, "accelerator");
}

TEST(Settings, PinKeepsTheBuildThatWasChosenFirst) {
  const DropFolder folder("pin");
  folder.add("accelerator", fakes_dir() + "/accelerator");
  EXPECT_EQ(version_with(folder.path(), "pin"), "1.0.0");
  folder.add("accelerator-next");
  EXPECT_EQ(version_with(folder.path(), "pin"), "1.0.0") << "a newer one makes no difference";
  EXPECT_EQ(version_with(folder.path(), "next-session"), "99.0.0");
  EXPECT_EQ(version_with(folder.path(), "pin", "provider.accelerator.version = '>=2'"), "99.0.0")
      << "another range is another choice";
  folder.remove("accelerator");
  EXPECT_EQ(version_with(folder.path(), "pin"), "1.0.0") << "it stays loaded";
  EXPECT_THAT(version_with(folder.path(), "pin", "discovery.deny = ['accelerator']"),
              HasSubstr("E_DISABLED"));
}

std::vector<std::string> warnings_with(const std::string& rules) {
  std::vector<std::string> logged;
  set_log_sink([&](const LogLine& line) {
    if (line.code == "PLACEMENT" && line.level == TENON_LOG_WARNING) logged.emplace_back(line.message);
  });
  const auto session = make_session(two_inputs(), static_accelerator("select.fallback = 'next'\n" + rules));
  set_log_sink({});
  const auto told = explained(*session)["warnings"].get<std::vector<std::string>>();
  EXPECT_EQ(told, logged);
  return told;
}

TEST(Settings, PlacementRulesWithoutEffectWarn) {
  const auto rule = [](const std::string& match, const std::string& provider) {
    return "[[placement]]\nmatch = { " + match + " }\nprovider = '" + provider + "'\n";
  };
  EXPECT_THAT(warnings_with(rule("op = 'Add'", "cpu")), testing::IsEmpty());
  EXPECT_THAT(warnings_with(rule("op = 'Conv'", "cpu")),
              ElementsAre(HasSubstr("the placement rule at test.toml:3 has no effect")));
  EXPECT_THAT(warnings_with(rule("op = 'Add'", "cpu") + rule("node = 'add'", "accelerator")),
              ElementsAre(HasSubstr("the placement rule at test.toml:6 has no effect")));
  EXPECT_THAT(warnings_with(rule("op = 'Add'", "npu")),
              ElementsAre(HasSubstr("names provider 'npu', which this session does not use: it uses "
                                    "accelerator/npu:0, cpu/cpu:0; add the provider to select.order")));
  EXPECT_THAT(warnings_with(rule("op = 'Conv', model = 'bert*'", "npu")), testing::IsEmpty())
      << "it is for another model";
}

}  // namespace
}  // namespace tenon::test
