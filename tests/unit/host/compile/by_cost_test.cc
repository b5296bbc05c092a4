// The choice among ways, on instances of the fake accelerator and cpu, whose answers are made up here.
#include "host/compile/by_cost.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
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

constexpr const char* kGraphKey = "the graph";

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
    runtime::Variant& by_order = variants.emplace_back();
    by_order.name = "order";
    by_order.order = *m.graph.topological_order();
    by_order.graph = std::move(m.graph);
    by_order.by_order = partition({0, 0, 0});
    fs::remove_all(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  Partition partition(const Assignment& assignment) const {
    Partition out;
    out.decisions.resize(variants[0].graph.node_limit());
    for (size_t i = 0; i < assignment.size(); ++i)
      out.decisions[variants[0].order[i]].provider = assignment[i];
    return out;
  }

  enum How { kMeasured, kCost, kRecording };

  std::optional<runtime::ByCost::Choice> choose(How how = kCost) {
    runtime::ByCostAsks asks;
    asks.variant = [&](std::optional<ProviderIndex> first) -> Result<const runtime::Variant*> {
      const size_t number = first.has_value() ? 1 + *first : 0;
      if (std::find(made.begin(), made.end(), number) == made.end()) made.push_back(number);
      return number < variants.size() ? &variants[number] : nullptr;
    };
    asks.claims = [&](const runtime::Variant& variant, ProviderIndex) {
      std::vector<partition::Claim> out;
      for (const ir::NodeId id : variant.order) {
        out.emplace_back();
        out.back().nodes = {id};
      }
      return Result<std::vector<partition::Claim>>(std::move(out));
    };
    asks.divide = [&](const runtime::Variant&, const Assignment& wanted) -> Result<std::optional<Partition>> {
      asked.push_back(name_of(wanted));
      if (std::find(refused.begin(), refused.end(), wanted) != refused.end())
        return std::optional<Partition>();
      return std::optional(partition(wanted));
    };
    asked.clear();
    made.clear();
    const auto measured = Timetable::read(&cache, kGraphKey);
    const runtime::ByCost choice(instances, 1, measured, &cache);
    if (how == kRecording) return checked(choice.to_measure(asks));
    auto out = checked(choice.fastest_measured(asks)).value();
    if (how == kCost && !out.has_value()) return checked(choice.cheapest(asks));
    return out;
  }
  template <class T>
  static std::optional<T> checked(Result<T> result) {
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return result.ok() ? std::optional(std::move(result).value()) : std::nullopt;
  }
  static std::string name_of(const Assignment& assignment) {
    return runtime::WayName{"", "", assignment}.text().substr(2);
  }
  /// "order 011": the variant that was taken, and who runs its nodes.
  std::string chosen(How how = kCost) {
    const auto choice = choose(how);
    if (!choice.has_value()) return "nothing";
    const runtime::Variant& variant = *choice->variant;
    return variant.name + " " + name_of(runtime::assignment_of(choice->partition, variant.order));
  }

  /// The same graph without its last node, which instance 1 leaves when it is asked first.
  void add_second_variant() {
    variants.push_back(variants[0]);
    runtime::Variant& variant = variants.back();
    variant.name = "other first";
    variant.graph.replace_uses(variant.graph.node(variant.order.back()).outputs[0],
                               variant.graph.node(variant.order[1]).outputs[0]);
    variant.graph.remove_node(variant.order.back());
    variant.order.pop_back();
    variant.by_order = partition({1, 1});
  }

  void measure_way(const Assignment& way, double ms, size_t variant = 0) {
    Timetable table;
    const runtime::WayName name{runtime::name_of_instances(instances),
                                runtime::name_of_graph(variants[variant].graph, variants[variant].order),
                                way};
    table.set(name.text(), static_cast<int64_t>(ms * kMillisecond));
    ASSERT_TRUE(table.store(cache, kGraphKey, {}).ok());
  }
  void measure_node(size_t instance, size_t node, double ms) {
    Timetable table;
    const runtime::Variant& variant = variants[0];
    table.set(runtime::name_of_work(variant.graph, variant.graph.node(variant.order[node])),
              static_cast<int64_t>(ms * kMillisecond));
    ASSERT_TRUE(table.store(cache, runtime::key_of_instance(*instances[instance], 1), {}).ok());
  }

  std::deque<runtime::Variant> variants;
  std::vector<std::shared_ptr<runtime::Instance>> instances;
  const fs::path folder =
      fs::path(::testing::TempDir()) /
      (std::string("by_cost_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
  runtime::BlobCache cache{folder.string()};
  std::vector<Assignment> refused;
  std::vector<std::string> asked;  // to divide in this way
  std::vector<size_t> made;        // variants
};

TEST_F(ByCost, WithoutTimesTheOrderIsKept) {
  const auto choice = choose();
  ASSERT_TRUE(choice.has_value());
  const Partition& taken = choice->partition;
  EXPECT_EQ(runtime::assignment_of(taken, variants[0].order), (Assignment{0, 0, 0}));
  ASSERT_EQ(taken.candidates.size(), 1u);
  EXPECT_EQ(taken.candidates[0].name, "order");
  EXPECT_TRUE(taken.candidates[0].chosen);
  EXPECT_GT(taken.candidates[0].estimate_ps, 0);
  EXPECT_EQ(taken.candidates[0].measured_ps, 0);
  EXPECT_THAT(made, ElementsAre(0));
}

TEST_F(ByCost, WithoutTimesNobodyIsAskedForTheFastest) {
  for (const size_t node : {0u, 1u, 2u}) measure_node(0, node, 1), measure_node(1, node, 0.1);
  EXPECT_EQ(chosen(kMeasured), "nothing") << "times of nodes are no time of a way";
  EXPECT_THAT(made, ElementsAre());
}

TEST_F(ByCost, TimesOfNodesDecide) {
  for (const size_t node : {0u, 1u, 2u}) measure_node(0, node, 1);
  measure_node(1, 0, 5), measure_node(1, 1, 0.2), measure_node(1, 2, 5);
  const auto choice = choose();
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(runtime::assignment_of(choice->partition, variants[0].order), (Assignment{0, 1, 0}));
  ASSERT_EQ(choice->partition.candidates.size(), 2u);
  EXPECT_EQ(choice->partition.candidates[1].name, "cheapest");
  EXPECT_TRUE(choice->partition.candidates[1].chosen);
  EXPECT_GT(choice->partition.candidates[0].estimate_ps, choice->partition.candidates[1].estimate_ps);
}

TEST_F(ByCost, MovesDecideToo) {
  for (const size_t node : {0u, 1u, 2u}) measure_node(0, node, 0.0002);
  measure_node(1, 0, 5), measure_node(1, 1, 0.0001), measure_node(1, 2, 5);
  EXPECT_EQ(chosen(), "order 000") << "0.1 us are gained, and two moves lost";
}

TEST_F(ByCost, AWayThatTheInstancesRefuseIsNotTaken) {
  for (const size_t node : {0u, 1u, 2u}) measure_node(0, node, 1);
  measure_node(1, 0, 5), measure_node(1, 1, 0.2), measure_node(1, 2, 5);
  refused = {{0, 1, 0}};
  EXPECT_EQ(chosen(), "order 000");
  measure_way({0, 1, 0}, 0.1);
  measure_way({1, 1, 1}, 0.2);
  measure_way({0, 0, 0}, 0.3);
  EXPECT_EQ(chosen(), "order 111") << "the second of those that were measured";
  refused.push_back({1, 1, 1});
  EXPECT_EQ(chosen(kMeasured), "order 000") << "the third";
}

TEST_F(ByCost, MeasuredWaysDecideAndNobodyElseIsAsked) {
  add_second_variant();
  for (const size_t node : {0u, 1u, 2u}) measure_node(1, node, 0.001);
  measure_way({0, 1, 1}, 2);
  measure_way({0, 0, 0}, 3);
  for (const How how : {kMeasured, kCost}) {
    EXPECT_EQ(chosen(how), "order 011");
    EXPECT_THAT(asked, ElementsAre("011"));
    EXPECT_THAT(made, ElementsAre(0)) << "the other variant was not measured";
  }
  measure_way({0, 0, 0}, 1);
  EXPECT_EQ(chosen(), "order 000");
  EXPECT_THAT(asked, ElementsAre());
}

TEST_F(ByCost, AWayOfAnotherVariantMayBeTheFastest) {
  add_second_variant();
  measure_way({0, 0, 0}, 3);
  measure_way({1, 1}, 2, 1);
  const auto choice = choose(kMeasured);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->variant, &variants[1]);
  EXPECT_EQ(choice->partition.candidates[0].name, "other first");
  EXPECT_EQ(choice->partition.candidates[0].measured_ps, 2 * kMillisecond);
  EXPECT_THAT(asked, ElementsAre()) << "it is what that order gives";
  measure_way({0, 1}, 1, 1);
  EXPECT_EQ(chosen(kMeasured), "other first 01");
  EXPECT_THAT(asked, ElementsAre("01"));
  refused = {{0, 1}};
  EXPECT_EQ(chosen(kMeasured), "other first 11");
  variants.pop_back();
  EXPECT_EQ(chosen(kMeasured), "order 000") << "that order cannot run the graph any more";
}

TEST_F(ByCost, RecordingTakesWhatWasNotMeasured) {
  add_second_variant();
  EXPECT_EQ(chosen(kRecording), "order 000");
  measure_way({0, 0, 0}, 2);
  EXPECT_EQ(chosen(kRecording), "other first 11");
  measure_way({1, 1}, 3, 1);
  EXPECT_EQ(chosen(kRecording), "order 000") << "all were measured: the fastest";
  for (const size_t node : {0u, 1u, 2u}) measure_node(0, node, 1);
  measure_node(1, 0, 5), measure_node(1, 1, 0.2), measure_node(1, 2, 5);
  EXPECT_EQ(chosen(kRecording), "order 010") << "now there is one more";
  measure_way({0, 1, 0}, 4);
  EXPECT_EQ(chosen(kRecording), "other first 01") << "and one of the other variant";
  measure_way({0, 1}, 1, 1);
  const auto choice = choose(kRecording);
  ASSERT_TRUE(choice.has_value());
  std::vector<std::string> names;
  for (const partition::Candidate& each : choice->partition.candidates) names.push_back(each.name);
  EXPECT_THAT(names, ElementsAre("order", "other first", "cheapest", "cheapest with other first"));
  EXPECT_TRUE(choice->partition.candidates.back().chosen);
}

TEST_F(ByCost, AVariantThatIsAsAnotherIsNoSecondWay) {
  variants.push_back(variants[0]);
  variants[1].name = "other first";
  const auto choice = choose(kRecording);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->partition.candidates.size(), 1u);
}

TEST_F(ByCost, TheSameTimesGiveTheSameChoice) {
  for (const size_t node : {0u, 1u, 2u}) measure_node(0, node, 1), measure_node(1, node, 1);
  const std::string first = chosen();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(chosen(), first);
}

TEST_F(ByCost, DamagedAndForeignTimesAreHarmless) {
  measure_way({1, 1, 1}, 0.1);
  ASSERT_EQ(chosen(kMeasured), "order 111");
  const std::string good = Timetable::read(&cache, kGraphKey).times().begin()->first;
  for (const auto& file : fs::directory_iterator(folder)) std::ofstream(file.path()) << "damaged";
  EXPECT_EQ(chosen(kMeasured), "nothing");
  const size_t graph = good.find(':') + 1, ways = good.find(':', graph) + 1;
  const std::string texts[] = {"111",
                               ":",
                               "::",
                               ":::111",
                               good.substr(0, good.size() - 1),   // a node too few
                               good + "1",                        // a node too many
                               good.substr(0, ways) + "119",      // no such instance
                               good.substr(0, ways) + "11\x01",   // no such name
                               "0" + good.substr(graph - 1),      // other instances
                               good.substr(0, graph) + "0:111"};  // another graph
  for (const std::string& text : texts) {
    ASSERT_TRUE(cache.put(kGraphKey, "tenon times 1\n" + text + " 5\n", {}).ok());
    EXPECT_EQ(chosen(kMeasured), "nothing") << text;
  }
  ASSERT_TRUE(cache.put(kGraphKey, "tenon times 1\n" + good + " 5\n", {}).ok());
  EXPECT_EQ(chosen(kMeasured), "order 111");
  fs::remove_all(folder);
  EXPECT_EQ(chosen(kMeasured), "nothing");
}

TEST_F(ByCost, AFailureIsTheCallers) {
  runtime::ByCostAsks asks;
  asks.variant = [&](std::optional<ProviderIndex>) { return Result<const runtime::Variant*>(&variants[0]); };
  const Status stopped(StatusCode::kCancelled, "by the test", ErrorKind::kCancelled);
  asks.claims = [&](const runtime::Variant&, ProviderIndex) {
    return Result<std::vector<partition::Claim>>(stopped);
  };
  const Timetable none;
  const runtime::ByCost choice(instances, 1, none, &cache);
  EXPECT_EQ(choice.cheapest(asks).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(choice.to_measure(asks).status().code(), StatusCode::kCancelled);
  measure_way({0, 1, 0}, 1);
  asks.variant = [&](std::optional<ProviderIndex>) { return Result<const runtime::Variant*>(stopped); };
  const auto measured = Timetable::read(&cache, kGraphKey);
  EXPECT_EQ(runtime::ByCost(instances, 1, measured, &cache).fastest_measured(asks).status().code(),
            StatusCode::kCancelled);
}

}  // namespace
}  // namespace tenon::test
