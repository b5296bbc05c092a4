#include "host/session/recorder.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "host/compile/times_keys.h"
#include "host/services/timetable.h"
#include "tests/support/explained.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

namespace fs = std::filesystem;
using runtime::Timetable;
using session::Recorder;

/// y = relu(x + x): the accelerator has Add, cpu Relu.
class RecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    GraphMaker m;
    const auto x = m.input("x", GraphMaker::f32({2}));
    m.output(m.node("Relu", {m.node("Add", {x, x}, {}, "add")}, {}, "relu"), "y");
    config::Config config =
        config_for({fakes_dir() + "/accelerator", providers_dir()}, {"accelerator", "cpu"});
    ASSERT_TRUE(
        config.apply_toml("provider.accelerator.options.ops = 'Add'\nselect.record_times = true", "test.toml")
            .ok());
    session = make_session(m.bytes(), config);
    ASSERT_NE(session, nullptr);
    order = *graph().topological_order();
    fs::remove_all(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  const ir::Graph& graph() const { return session->assembly()->executable->graph(); }
  Timetable nodes_of(size_t instance) {
    return Timetable::read(&cache,
                           runtime::key_of_instance(*session->assembly()->selection.instances[instance], 3));
  }
  Timetable ways() {
    return Timetable::read(&cache, runtime::key_of_graph(session->assembly()->name_of_graph, 3));
  }
  const int64_t* time(const Timetable& table, size_t node) const {
    return table.find(runtime::name_of_work(graph(), graph().node(order[node])));
  }
  /// A Run: Add on the device in two pieces, then Relu.
  void run(int64_t begin, int64_t add, int64_t relu) {
    recorder.begin_run();
    const std::string step = "node 'add' (Add)";
    recorder.trace()->add({step, "enqueue", "accelerator/npu:0", begin, 1, 0, 0});
    recorder.trace()->add({"kernel", "device", "accelerator/npu:0", begin, add / 2, 0, 0, "stream", step});
    recorder.trace()->add(
        {"kernel", "device", "accelerator/npu:0", begin + add / 2, add / 2, 0, 0, "stream", step});
    recorder.trace()->add({"node 'relu' (Relu)", "run", "cpu/cpu:0", begin + add, relu, 0, 0});
  }
  Status store() { return recorder.store(*session->assembly(), 3, cache, {}); }

  std::shared_ptr<session::Session> session;
  std::vector<ir::NodeId> order;
  Recorder recorder;
  const fs::path folder =
      fs::path(::testing::TempDir()) /
      (std::string("recorder_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
  runtime::BlobCache cache{folder.string()};
};

TEST_F(RecorderTest, StoresTheMediansOfAllRunsButTheFirst) {
  run(0, 10'000, 9'000);
  run(100'000, 200, 30);
  run(200'000, 220, 50);
  run(300'000, 210, 40);
  ASSERT_TRUE(store().ok());
  ASSERT_NE(time(nodes_of(0), 0), nullptr);
  EXPECT_EQ(*time(nodes_of(0), 0), 210'000) << "picoseconds";
  EXPECT_EQ(*time(nodes_of(1), 1), 40'000);
  EXPECT_EQ(time(nodes_of(0), 1), nullptr);
  EXPECT_EQ(time(nodes_of(1), 0), nullptr);
  ASSERT_EQ(ways().times().size(), 1u);
  const auto way = runtime::WayName::parse(ways().times().begin()->first);
  ASSERT_TRUE(way.has_value());
  EXPECT_EQ(way->instances, runtime::name_of_instances(session->assembly()->selection.instances));
  EXPECT_EQ(way->graph, runtime::name_of_graph(graph(), order));
  EXPECT_EQ(way->assignment, (runtime::Assignment{0, 1}));
  EXPECT_EQ(ways().times().begin()->second, 250'000);
}

TEST_F(RecorderTest, OneRunIsBetterThanNone) {
  EXPECT_TRUE(store().ok());
  EXPECT_TRUE(ways().times().empty());
  EXPECT_FALSE(fs::exists(folder));
  run(0, 200, 30);
  ASSERT_TRUE(store().ok());
  EXPECT_EQ(ways().times().begin()->second, 230'000);
}

TEST_F(RecorderTest, RunsThatOverlapAreAveraged) {
  run(0, 200, 30);
  recorder.begin_run();  // takes in the first
  recorder.begin_run();
  for (int i = 0; i < 2; ++i)
    recorder.trace()->add({"node 'relu' (Relu)", "run", "cpu/cpu:0", 1000 + 50 * i, 50, 0, 0});
  ASSERT_TRUE(store().ok());
  EXPECT_EQ(*time(nodes_of(1), 1), 50'000);
  EXPECT_EQ(ways().times().begin()->second, 50'000);
}

TEST_F(RecorderTest, LimitsOfTheCacheAreToldOf) {
  run(0, 200, 30);
  const Status status = recorder.store(*session->assembly(), 3, cache, {10, 0});
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.to_string();
}

TEST(RecordTimes, IsNotForSessionsWithAProfile) {
  GraphMaker m;
  m.output(m.node("Relu", {m.input("x", GraphMaker::f32({2}))}), "y");
  config::Config config = cpu_config();
  ASSERT_TRUE(assign(config, "select.record_times=true").ok());
  ASSERT_TRUE(assign(config, "profiling.file=\"" + ::testing::TempDir() + "/unused.json\"").ok());
  const auto session = try_session(m.bytes(), config);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.status().kind(), ErrorKind::kConfig);
  EXPECT_THAT(session.status().to_string(), testing::HasSubstr("profiling.file"));
}

TEST(RecordTimes, IsNoProfile) {
  GraphMaker m;
  m.output(m.node("Relu", {m.input("x", GraphMaker::f32({2}))}), "y");
  config::Config config = cpu_config();
  ASSERT_TRUE(assign(config, "select.record_times=true").ok());
  const auto session = make_session(m.bytes(), config);
  ASSERT_NE(session, nullptr);
  const auto path = session->end_profile();
  EXPECT_EQ(path.status().code(), StatusCode::kFailedPrecondition) << "there is no file to write";
  EXPECT_THAT(path.status().to_string(), testing::HasSubstr("profiling.file"));
}

TEST(PartitionByCost, GivesTheSameResultsAndSaysWhatItWeighed) {
  GraphMaker m;
  auto x = m.input("x", GraphMaker::f32({3}));
  for (const char* op : {"Add", "Mul", "Sub", "Add"}) x = m.node(op, {x, x});
  m.output(m.node("Relu", {x}), "y");
  config::Config config = config_for({fakes_dir() + "/accelerator", providers_dir()}, {"accelerator", "cpu"});
  const auto by_order = make_session(m.bytes(), config);
  ASSERT_TRUE(assign(config, "select.partition=\"cost\"").ok());
  const auto by_cost = make_session(m.bytes(), config);
  ASSERT_NE(by_cost, nullptr);
  const auto input = f32({3}, {1, -2, 3});
  EXPECT_EQ(floats(run(*by_order, {{"x", input}})[0]), floats(run(*by_cost, {{"x", input}})[0]));
  EXPECT_TRUE(explained(*by_order)["candidates"].empty());
  const auto json = explained(*by_cost);
  ASSERT_GE(json["candidates"].size(), 2u);
  EXPECT_EQ(json["candidates"][0]["name"], "order");
  EXPECT_GT(json["candidates"][0]["estimate_ms"], 0);
  for (const auto& node : json["nodes"]) {
    EXPECT_EQ(node["instance"], "cpu/cpu:0") << "a few elements are not worth the way to a device";
    EXPECT_EQ(node["declines"][0]["code"], "divided");
    EXPECT_THAT(node["declines"][0]["text"].get<std::string>(), testing::HasSubstr("cpu/cpu:0"));
  }
}

TEST(PartitionByCost, PlacementRulesAreKept) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({3}));
  m.output(m.node("Relu", {m.node("Add", {x, x})}), "y");
  config::Config config = config_for({fakes_dir() + "/accelerator", providers_dir()}, {"accelerator", "cpu"});
  ASSERT_TRUE(
      config
          .apply_toml(
              "select.partition = 'cost'\n[[placement]]\nmatch = {op = 'Add'}\nprovider = 'accelerator'\n"
              "required = true\n",
              "test.toml")
          .ok());
  const auto session = make_session(m.bytes(), config);
  ASSERT_NE(session, nullptr);
  const auto json = explained(*session);
  EXPECT_EQ(json["nodes"][0]["instance"], "accelerator/npu:0");
  EXPECT_EQ(floats(run(*session, {{"x", f32({3}, {1, -2, 3})}})[0]), (std::vector<float>{2, 0, 6}));
}

TEST(PartitionByCost, BodiesAreDividedToo) {
  GraphMaker m;
  m.input("x", GraphMaker::f32({3}));
  const auto condition = m.input("c", GraphMaker::boolean({}));
  std::vector<ir::Attribute> branches;
  for (const char* name : {"then_branch", "else_branch"}) {
    GraphMaker body;
    const auto x = body.capture(0, "x");
    body.output(body.node(branches.empty() ? "Add" : "Mul", {x, x}), "b");
    branches.push_back(ir::Attribute::of_graph(name, body.graph));
  }
  m.output(m.node("If", {condition}, std::move(branches)), "y", GraphMaker::f32({3}));
  config::Config config = config_for({fakes_dir() + "/accelerator", providers_dir()}, {"accelerator", "cpu"});
  ASSERT_TRUE(assign(config, "select.partition=\"cost\"").ok());
  const auto session = make_session(m.bytes(), config);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(floats(run(*session, {{"x", f32({3}, {1, -2, 3})}, {"c", boolean(true)}})[0]),
            (std::vector<float>{2, -4, 6}));
  size_t of_bodies = 0;
  const auto json = explained(*session);
  for (const auto& candidate : json["candidates"]) of_bodies += candidate["graph"] != "";
  EXPECT_GE(of_bodies, 4u) << "two ways for each of two bodies";
}

}  // namespace
}  // namespace tenon::test
