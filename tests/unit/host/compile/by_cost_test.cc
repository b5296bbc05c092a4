// The choice among ways, on instances of the fake accelerator and cpu, whose answers are made up here.
#include "host/compile/by_cost.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

namespace fs = std::filesystem;
using partition::Partition;
using partition::ProviderIndex;
using runtime::Assignment;
using runtime::Timetable;
using testing::ElementsAre;

constexpr int64_t kMillisecond = 1'000'000'000;

/// A chain of three nodes, which the order gives to instance 0; both instances claim all of them.
class ByCost : public ::testing::Test {
 protected:
  void SetUp() override {
    GraphMaker m;
    auto x = m.input("x", GraphMaker::f32({1000}));
    for (const char* op : {"Add", "Mul", "Sub"}) {
      x = m.node(op, {x, x});
      m.graph.set_type(x, GraphMaker::f32({1000}));
    }
    m.output(x, "y");
    const auto session = make_session(
        m.bytes(), config_for({fakes_dir() + "/accelerator", providers_dir()}, {"accelerator", "cpu"}));
    ASSERT_NE(session, nullptr);
    instances = session->assembly()->selection.instances;
    graph = std::move(m.graph);
    order = *graph.topological_order();
    fs::remove_all(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  Partition partition(const Assignment& assignment) const {
    Partition out;
    out.decisions.resize(graph.node_limit());
    for (size_t i = 0; i < order.size(); ++i) out.decisions[order[i]].provider = assignment[i];
    return out;
  }

  Partition choose(bool recording = false, const Assignment& by_order = {0, 0, 0}) {
    runtime::ByCostAsks asks;
    asks.claims = [&](ProviderIndex) {
      std::vector<partition::Claim> out;
      for (const ir::NodeId id : order) {
        out.emplace_back();
        out.back().nodes = {id};
      }
      return Result<std::vector<partition::Claim>>(std::move(out));
    };
    asks.divide = [&](const Assignment& wanted) -> Result<std::optional<Partition>> {
      asked.push_back(runtime::name_of(wanted));
      if (std::find(refused.begin(), refused.end(), wanted) != refused.end())
        return std::optional<Partition>();
      return std::optional(partition(wanted));
    };
    asked.clear();
    runtime::ByCost choice(graph, order, instances, 1, &cache);
    auto out = choice.choose(partition(by_order), recording, asks);
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return std::move(out).value();
  }
  std::string chosen(bool recording = false) {
    return runtime::name_of(runtime::assignment_of(choose(recording), order));
  }

  std::string graph_key() const {
    return runtime::key_of_graph(runtime::name_of_graph(graph, order), instances, 1);
  }
  void measure_way(const Assignment& way, double ms) {
    Timetable table;
    table.set(runtime::name_of(way), static_cast<int64_t>(ms * kMillisecond));
    ASSERT_TRUE(table.store(cache, graph_key(), {}).ok());
  }
  void measure_node(size_t instance, size_t node, double ms) {
    Timetable table;
    table.set(runtime::name_of_work(graph, graph.node(order[node])), static_cast<int64_t>(ms * kMillisecond));
    ASSERT_TRUE(table.store(cache, runtime::key_of_instance(*instances[instance], 1), {}).ok());
  }

  ir::Graph graph;
  std::vector<ir::NodeId> order;
  std::vector<std::shared_ptr<runtime::Instance>> instances;
  const fs::path folder =
      fs::path(::testing::TempDir()) /
      (std::string("by_cost_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
  runtime::BlobCache cache{folder.string()};
  std::vector<Assignment> refused;
  std::vector<std::string> asked;
};

TEST_F(ByCost, WithoutTimesTheOrderIsKept) {
  const Partition taken = choose();
  EXPECT_EQ(runtime::assignment_of(taken, order), (Assignment{0, 0, 0}));
  ASSERT_EQ(taken.candidates.size(), 2u);
  EXPECT_EQ(taken.candidates[0].name, "order");
  EXPECT_TRUE(taken.candidates[0].chosen);
  EXPECT_EQ(taken.candidates[1].name, instances[1]->id() + " first");
  EXPECT_GT(taken.candidates[1].estimate_ps, taken.candidates[0].estimate_ps);
  EXPECT_EQ(taken.candidates[0].measured_ps, 0);
}

TEST_F(ByCost, TimesOfNodesDecide) {
  for (const size_t node : {0u, 1u, 2u}) measure_node(0, node, 1);
  measure_node(1, 0, 5), measure_node(1, 1, 0.2), measure_node(1, 2, 5);
  const Partition taken = choose();
  EXPECT_EQ(runtime::assignment_of(taken, order), (Assignment{0, 1, 0}));
  EXPECT_EQ(taken.candidates.back().name, "cheapest");
  EXPECT_TRUE(taken.candidates.back().chosen);
}

TEST_F(ByCost, MovesDecideToo) {
  for (const size_t node : {0u, 1u, 2u}) measure_node(0, node, 0.0002);
  measure_node(1, 0, 5), measure_node(1, 1, 0.0001), measure_node(1, 2, 5);
  EXPECT_EQ(chosen(), "000") << "0.1 us are gained, and two moves lost";
}

TEST_F(ByCost, AWayThatTheInstancesRefuseIsNotTaken) {
  for (const size_t node : {0u, 1u, 2u}) measure_node(0, node, 1);
  measure_node(1, 0, 5), measure_node(1, 1, 0.2), measure_node(1, 2, 5);
  refused = {{0, 1, 0}};
  EXPECT_EQ(chosen(), "000");
  measure_way({0, 1, 0}, 0.1);
  measure_way({1, 1, 1}, 0.2);
  measure_way({0, 0, 0}, 0.3);
  EXPECT_EQ(chosen(), "111") << "the second of those that were measured";
}

TEST_F(ByCost, MeasuredWaysDecideAndNobodyElseIsAsked) {
  for (const size_t node : {0u, 1u, 2u}) measure_node(1, node, 0.001);
  measure_way({0, 1, 1}, 2);
  measure_way({0, 0, 0}, 3);
  EXPECT_EQ(chosen(), "011");
  EXPECT_THAT(asked, ElementsAre("011"));
  measure_way({0, 0, 0}, 1);
  EXPECT_EQ(chosen(), "000");
  EXPECT_THAT(asked, ElementsAre());
}

TEST_F(ByCost, RecordingTakesWhatWasNotMeasured) {
  EXPECT_EQ(chosen(true), "000");
  measure_way({0, 0, 0}, 2);
  EXPECT_EQ(chosen(true), "111");
  measure_way({1, 1, 1}, 3);
  EXPECT_EQ(chosen(true), "000") << "all were measured: the best";
  for (const size_t node : {0u, 1u, 2u}) measure_node(0, node, 1);
  measure_node(1, 0, 5), measure_node(1, 1, 0.2), measure_node(1, 2, 5);
  EXPECT_EQ(chosen(true), "010") << "now there is one more";
}

TEST_F(ByCost, TheSameTimesGiveTheSameChoice) {
  for (const size_t node : {0u, 1u, 2u}) measure_node(0, node, 1), measure_node(1, node, 1);
  const std::string first = chosen();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(chosen(), first);
}

TEST_F(ByCost, DamagedAndForeignTimesAreHarmless) {
  measure_way({1, 1, 1}, 0.1);
  ASSERT_EQ(chosen(), "111");
  for (const auto& file : fs::directory_iterator(folder)) std::ofstream(file.path()) << "damaged";
  EXPECT_EQ(chosen(), "000");
  for (const char* text :
       {"tenon times 1\n11 5\n", "tenon times 1\n119 5\n", "tenon times 1\n11\x01 5\n", "\n"}) {
    ASSERT_TRUE(cache.put(graph_key(), text, {}).ok());
    EXPECT_EQ(chosen(), "000") << text;
  }
  fs::remove_all(folder);
  EXPECT_EQ(chosen(), "000");
}

TEST_F(ByCost, AFailureIsTheCallers) {
  runtime::ByCostAsks asks;
  asks.claims = [](ProviderIndex) {
    return Result<std::vector<partition::Claim>>(
        Status(StatusCode::kCancelled, "by the test", ErrorKind::kCancelled));
  };
  runtime::ByCost choice(graph, order, instances, 1, &cache);
  EXPECT_EQ(choice.choose(partition({0, 0, 0}), false, asks).status().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace tenon::test
