#include "host/compile/cost_model.h"

#include <gmock/gmock.h>

#include "core/ops/work.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {
namespace {

using partition::Claim;
using partition::CostProblem;
using runtime::CostedInstance;
using testing::ElementsAre;

constexpr int64_t kNo = CostProblem::kCannotRun;
constexpr partition::ProviderIndex kHost = partition::kNoProvider;

/// y = relu(x + x), z = relu(x + x) + x
class CostModel : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto x = m.input("x", GraphMaker::f32({100}));
    sum = m.node("Add", {x, x});
    m.graph.set_type(sum, GraphMaker::f32({100}));
    relu = m.node("Relu", {sum});
    m.graph.set_type(relu, GraphMaker::f32({100}));
    const auto again = m.node("Add", {relu, x});
    m.graph.set_type(again, GraphMaker::f32({100}));
    m.output(relu, "y");
    m.output(again, "z");
    order = *m.graph.topological_order();
  }

  /// Claims of one node each.
  CostedInstance instance(const std::vector<size_t>& nodes, bool in_host_memory = true) const {
    CostedInstance out;
    for (const size_t at : nodes) {
      out.claims.emplace_back();
      out.claims.back().nodes = {order[at]};
    }
    out.in_host_memory = in_host_memory;
    out.roofline = {1, 1, 1000};
    return out;
  }
  std::string name(size_t at) const { return runtime::name_of_work(m.graph, m.graph.node(order[at])); }
  std::vector<int64_t> times(const CostProblem& problem, uint32_t at) const {
    std::vector<int64_t> out;
    for (uint32_t label = 0; label < problem.labels; ++label) out.push_back(problem.time(at, label));
    return out;
  }
  CostProblem problem(const std::vector<CostedInstance>& instances,
                      const runtime::Assignment& by_order) const {
    return runtime::cost_problem(m.graph, order, instances, by_order);
  }

  GraphMaker m;
  ir::ValueId sum = 0, relu = 0;
  std::vector<ir::NodeId> order;
};

constexpr int64_t kAdd = 1000 + 1200, kRelu = 1000 + 800;  // launch and bytes

TEST_F(CostModel, WithoutTimesTheOrderIsRightOnProcessors) {
  const CostProblem p = problem({instance({0, 2}), instance({0, 1, 2})}, {0, 1, 1});
  EXPECT_THAT(times(p, 0), ElementsAre(kAdd, 2 * kAdd, kNo));
  EXPECT_THAT(times(p, 1), ElementsAre(kNo, kRelu, kNo));
  EXPECT_THAT(times(p, 2), ElementsAre(2 * kAdd, kAdd, kNo));
}

TEST_F(CostModel, DevicesHaveTheirRoofline) {
  const CostProblem p = problem({instance({0, 1, 2}, false), instance({0, 1, 2})}, {0, 0, 0});
  EXPECT_THAT(times(p, 1), ElementsAre(kRelu, kRelu, kNo));
}

TEST_F(CostModel, MeasuredTimesAreTaken) {
  std::vector<CostedInstance> instances{instance({0, 1, 2}), instance({0, 1, 2}), instance({0, 1, 2})};
  instances[1].measured.set(name(0), 77);
  CostProblem p = problem(instances, {0, 0, 0});
  EXPECT_THAT(times(p, 0), ElementsAre(77, 77, 2 * 77, kNo)) << "the others are no faster than what is known";
  instances[0].measured.set(name(0), 50);
  p = problem(instances, {0, 0, 0});
  EXPECT_THAT(times(p, 0), ElementsAre(50, 77, 100, kNo));
  EXPECT_THAT(times(p, 1), ElementsAre(kRelu, 2 * kRelu, 2 * kRelu, kNo)) << "another operator";
  EXPECT_THAT(times(p, 2), ElementsAre(50, 77, 100, kNo)) << "the same work as the first node";
}

TEST_F(CostModel, AProvidersOwnEstimateIsTaken) {
  std::vector<CostedInstance> instances{instance({0, 1, 2}, false), instance({0, 1, 2})};
  instances[0].claims.assign(1, Claim{});
  instances[0].claims[0].nodes = {order[0], order[1]};
  instances[0].claims[0].cost.time_ns = 400;
  CostProblem p = problem(instances, {0, 0, 1});
  EXPECT_EQ(p.time(0, 0) + p.time(1, 0), 400'000);
  EXPECT_GT(p.time(0, 0), p.time(1, 0));
  instances[0].claims[0].cost = {};
  instances[0].claims[0].cost.launch_ns = 10;
  p = problem(instances, {0, 0, 1});
  EXPECT_EQ(p.time(0, 0), 5000 + 1200) << "half of the launch, and its bytes";
  instances[0].claims[0].cost = {};
  instances[0].claims[0].cost.bytes = 2 * (1200 + 800);
  p = problem(instances, {0, 0, 1});
  EXPECT_EQ(p.time(0, 0), 1000 + 2 * 1200);
  instances[0].claims[0].cost.flops = 1e6;
  EXPECT_GT(problem(instances, {0, 0, 1}).time(0, 0), 100'000);
}

TEST_F(CostModel, NodesOfTheHostStayThere) {
  const CostProblem p = problem({instance({0, 2})}, {0, kHost, 0});
  EXPECT_THAT(times(p, 1), ElementsAre(kNo, 0));
  const auto labels = runtime::to_labels({0, kHost, 0}, p);
  EXPECT_EQ(labels.size(), p.node_count());
  EXPECT_EQ(runtime::from_labels(labels, 3, p), (runtime::Assignment{0, kHost, 0}));
  EXPECT_LT(partition::cost_of(p, labels), kNo);
}

TEST_F(CostModel, ValuesCrossTheBusOnce) {
  const CostProblem p = problem({instance({0, 1, 2}, false), instance({0, 1, 2})}, {0, 0, 0});
  // x comes from the host; sum has one reader; relu is an output too; again is an output.
  ASSERT_EQ(p.values.size(), 4u);
  for (const CostProblem::Value& value : p.values) EXPECT_EQ(value.bytes, 400);
  EXPECT_THAT(p.values[0].consumers, ElementsAre(0, 2));
  EXPECT_EQ(p.values[2].consumers.size(), 2u);
  const CostProblem::Value& value = p.values[0];
  EXPECT_EQ(p.move(value, 0, 0), 0);
  EXPECT_EQ(p.move(value, 1, 2), 0) << "what the caller gives is in plain form in host memory";
  EXPECT_GT(p.move(value, 0, 2), 10'000'000);
  EXPECT_GT(p.move(value, 0, 1), p.move(value, 0, 2));
}

TEST_F(CostModel, ANodeThatRunsNowhereElseStays) {
  const CostProblem p = problem({instance({}), instance({1})}, {0, 1, 0});
  EXPECT_THAT(times(p, 0), ElementsAre(kAdd, kNo, kNo))
      << "the order gives it to the first, which claims it only so";
}

}  // namespace
}  // namespace tenon::test
