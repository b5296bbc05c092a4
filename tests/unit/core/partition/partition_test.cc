#include "core/partition/partition.h"
#include "tests/support/cpu_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tenon::partition {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const ir::Type kFloats = ir::Type::tensor(ir::ElementType::kFloat32, ir::Shape::of({4}));

class GraphBuilder {
 public:
  ir::ValueId input(const std::string& name) {
    const ir::ValueId id = graph.add_value(name, kFloats);
    graph.add_input(id);
    return id;
  }
  ir::NodeId node(const std::string& name, std::vector<ir::ValueId> inputs, const std::string& op = "Add") {
    ir::Node n;
    n.name = name;
    n.op_type = op;
    n.inputs = std::move(inputs);
    n.outputs = {graph.add_value(name + "_out", kFloats)};
    return graph.add_node(std::move(n));
  }
  ir::ValueId out(ir::NodeId node) const { return graph.node(node).outputs[0]; }
  void output(ir::NodeId node) { graph.add_output(out(node)); }

  ir::Graph graph;
};

Claim claim_of(std::vector<ir::NodeId> nodes) {
  Claim claim;
  claim.nodes = std::move(nodes);
  return claim;
}

bool is_loop(const ir::Node& node) { return node.op_type == "Loop"; }
std::string name_of(ProviderIndex provider) { return str_cat("p", provider); }

/// x -> a -> b -> c, and x -> d; c and d meet in e.
class Diamond : public ::testing::Test {
 protected:
  GraphBuilder g;
  ir::ValueId x = g.input("x");
  ir::NodeId a = g.node("a", {x}), b = g.node("b", {g.out(a)}), c = g.node("c", {g.out(b)}),
             d = g.node("d", {x}), e = g.node("e", {g.out(c), g.out(d)});
  void SetUp() override { g.output(e); }
};

TEST_F(Diamond, ClaimsBecomePartsInOrder) {
  Partitioner p(g.graph, is_loop);
  std::vector<Claim> claims = {claim_of({e}), claim_of({b, a}), claim_of({c, d})};
  ASSERT_TRUE(p.offer(0, claims, {}).ok());
  const auto result = p.finish(name_of);
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  ASSERT_EQ(result->parts.size(), 3u);
  EXPECT_THAT(result->parts[0].claim.nodes, ElementsAre(a, b));
  EXPECT_THAT(result->parts[0].inputs, ElementsAre(x));
  EXPECT_THAT(result->parts[0].outputs, ElementsAre(g.out(b)));
  EXPECT_THAT(result->parts[1].claim.nodes, ElementsAre(c, d));
  EXPECT_THAT(result->parts[1].inputs, ElementsAre(g.out(b), x));
  EXPECT_THAT(result->parts[1].outputs, ElementsAre(g.out(c), g.out(d)));
  EXPECT_THAT(result->parts[2].outputs, ElementsAre(g.out(e)));
}

TEST_F(Diamond, TheFirstOutputOfANodeHasMemoryAlthoughNobodyUsesIt) {
  const ir::NodeId dead = g.node("dead", {x});
  ir::Node two;
  two.name = "two";
  two.op_type = "Two";
  two.inputs = {x};
  two.outputs = {g.graph.add_value("unused", kFloats), g.graph.add_value("used", kFloats),
                 g.graph.add_value("left_out", kFloats)};
  const ir::NodeId second = g.graph.add_node(two);
  g.graph.add_output(two.outputs[1]);
  Partitioner p(g.graph, is_loop);
  std::vector<Claim> claims = {claim_of({a, b, c, d, e}), claim_of({dead}), claim_of({second})};
  ASSERT_TRUE(p.offer(0, claims, {}).ok());
  const auto result = p.finish(name_of);
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  std::set<std::vector<ir::ValueId>> outputs;
  for (const Part& part : result->parts) outputs.insert(part.outputs);
  EXPECT_THAT(outputs, UnorderedElementsAre(ElementsAre(g.out(e)), ElementsAre(g.out(dead)),
                                            ElementsAre(two.outputs[0], two.outputs[1])));
}

TEST_F(Diamond, LaterProvidersSeeWhatIsTaken) {
  Partitioner p(g.graph, is_loop);
  ASSERT_TRUE(p.offer(0, {claim_of({a})}, {{b, RejectCode::kType, "Add: float32"}}).ok());
  EXPECT_TRUE(p.taken(1, a));
  EXPECT_FALSE(p.taken(1, b));
  EXPECT_TRUE(p.taken_by_others(1, a));
  EXPECT_TRUE(p.taken(0, a));
  EXPECT_FALSE(p.taken_by_others(0, a));
  EXPECT_THAT(p.open_nodes(), UnorderedElementsAre(b, c, d, e));
  ASSERT_TRUE(p.offer(1, {claim_of({b}), claim_of({c}), claim_of({d}), claim_of({e})}, {}).ok());
  const auto result = p.finish(name_of);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->decisions[b].provider, 1u);
  ASSERT_EQ(result->decisions[b].declines.size(), 1u);
  EXPECT_EQ(result->decisions[b].declines[0].code, RejectCode::kType);
  EXPECT_EQ(result->decisions[b].declines[0].provider, 0u);
}

TEST_F(Diamond, RefusesTakenOverlappingAndUnknown) {
  Partitioner p(g.graph, is_loop);
  ASSERT_TRUE(p.offer(0, {claim_of({a})}, {}).ok());
  ASSERT_TRUE(
      p.offer(1, {claim_of({a, b}), claim_of({c}), claim_of({c, d}), claim_of({}), claim_of({99})}, {}).ok());
  EXPECT_THAT(p.declines(b)[0].text, HasSubstr("R23"));
  EXPECT_EQ(p.declines(b)[0].code, RejectCode::kClaimRefused);
  EXPECT_TRUE(p.taken(2, c));
  EXPECT_TRUE(p.declines(c).empty());
  EXPECT_THAT(p.declines(d)[0].text, HasSubstr("R24"));
  EXPECT_THAT(p.open_nodes(), UnorderedElementsAre(b, d, e));
}

TEST_F(Diamond, RefusesClaimsThatAreNotConvex) {
  Partitioner p(g.graph, is_loop);
  ASSERT_TRUE(p.offer(0, {claim_of({a, c}), claim_of({b}), claim_of({d, e})}, {}).ok());
  EXPECT_THAT(p.declines(a)[0].text, HasSubstr("R25"));
  EXPECT_THAT(p.declines(c)[0].text, HasSubstr("R25"));
  EXPECT_THAT(p.open_nodes(), UnorderedElementsAre(a, c));
  EXPECT_TRUE(p.taken(1, d));
}

TEST(Partition, RefusesClaimsThatWaitForEachOther) {
  // a -> b and c -> d: {a, d} and {b, c} are both convex, but each would wait for the other.
  GraphBuilder g;
  const auto x = g.input("x"), y = g.input("y");
  const auto a = g.node("a", {x}), b = g.node("b", {g.out(a)}), c = g.node("c", {y}),
             d = g.node("d", {g.out(c)});
  g.output(b);
  g.output(d);
  Partitioner p(g.graph, is_loop);
  ASSERT_TRUE(p.offer(0, {claim_of({a, d}), claim_of({b, c})}, {}).ok());
  EXPECT_TRUE(p.taken(1, a));
  EXPECT_THAT(p.open_nodes(), UnorderedElementsAre(b, c));
  EXPECT_THAT(p.declines(b)[0].text, HasSubstr("R26"));
  // The same across providers.
  ASSERT_TRUE(p.offer(1, {claim_of({b, c})}, {}).ok());
  EXPECT_THAT(p.declines(c)[1].text, HasSubstr("R26"));
  ASSERT_TRUE(p.offer(2, {claim_of({b}), claim_of({c})}, {}).ok());
  EXPECT_TRUE(p.finish(name_of).ok());
}

TEST_F(Diamond, ABarIsLifted) {
  Partitioner p(g.graph, is_loop);
  p.bar(0, c, RejectCode::kPlacement, "rule");
  EXPECT_TRUE(p.taken(0, c));
  EXPECT_FALSE(p.taken(1, c));
  EXPECT_FALSE(p.unbar(0, c, RejectCode::kCompileFailed));
  EXPECT_TRUE(p.unbar(0, c, RejectCode::kPlacement));
  EXPECT_FALSE(p.taken(0, c));
  EXPECT_TRUE(p.declines(c).empty());
}

TEST_F(Diamond, NobodyRunsANodeNamesAllReasons) {
  Partitioner p(g.graph, is_loop);
  p.bar(0, c, RejectCode::kPlacement, "placement rule 1 says p1");
  ASSERT_TRUE(p.offer(0, {claim_of({a}), claim_of({b}), claim_of({d}), claim_of({e})}, {}).ok());
  ASSERT_TRUE(p.offer(1, {}, {{c, RejectCode::kShape, "Add: rank 9"}}).ok());
  const auto result = p.finish(name_of);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(std::string(result.error().where()), HasSubstr("'c'"));
  EXPECT_THAT(std::string(result.error().message()), HasSubstr("operator Add"));
  EXPECT_THAT(std::string(result.error().message()),
              HasSubstr("p0: placement rule 1 says p1; p1: Add: rank 9"));
}

TEST(Partition, ControlFlowIsItsOwnPartWithItsCaptures) {
  GraphBuilder g;
  const auto x = g.input("x"), n = g.input("n");
  const auto a = g.node("a", {x});
  ir::Graph body;
  body.add_output(body.add_capture(g.out(a), "captured", kFloats));
  ir::Node loop;
  loop.name = "loop";
  loop.op_type = "Loop";
  loop.inputs = {n, ir::kNone};
  loop.outputs = {g.graph.add_value("loop_out", kFloats)};
  loop.attributes.push_back(ir::Attribute::of_graph("body", std::move(body)));
  const auto l = g.graph.add_node(std::move(loop));
  g.output(l);
  Partitioner p(g.graph, is_loop);
  EXPECT_TRUE(p.taken(0, l));
  ASSERT_TRUE(p.offer(0, {claim_of({a, l}), claim_of({a})}, {}).ok());
  const auto result = p.finish(name_of);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->parts.size(), 2u);
  EXPECT_EQ(result->parts[1].provider, kNoProvider);
  EXPECT_THAT(result->parts[1].inputs, ElementsAre(n, g.out(a)));
  EXPECT_TRUE(result->decisions[l].control_flow);
}

TEST(Partition, ConstantsAreNoInputs) {
  GraphBuilder g;
  const auto x = g.input("x");
  const auto k = g.graph.add_constant("k", ir::Tensor::of_ints({1, 2}));
  const auto a = g.node("a", {x, k, x});
  g.output(a);
  Partitioner p(g.graph, is_loop);
  ASSERT_TRUE(p.offer(0, {claim_of({a})}, {}).ok());
  EXPECT_THAT(p.finish(name_of)->parts[0].inputs, ElementsAre(x));
}

/// Whatever claims are offered, what is accepted can be run in the order given, and covers each node at most
/// once.
TEST(Partition, RandomOffersGiveRunnableOrders) {
  std::mt19937 random(20240607);
  for (int round = 0; round < 200; ++round) {
    GraphBuilder g;
    std::vector<ir::ValueId> values = {g.input("x"), g.input("y")};
    std::vector<ir::NodeId> nodes;
    for (int i = 0; i < 24; ++i) {
      const auto pick = [&] {
        return values[values.size() - 1 - random() % std::min<size_t>(values.size(), 6)];
      };
      nodes.push_back(g.node(str_cat("n", i), {pick(), pick()}));
      values.push_back(g.out(nodes.back()));
    }
    g.output(nodes.back());
    Partitioner p(g.graph, is_loop);
    for (ProviderIndex provider = 0; provider < 3; ++provider) {
      std::vector<Claim> claims;
      for (int c = 0; c < 6; ++c) {
        std::set<ir::NodeId> members;
        const size_t start = random() % nodes.size(), length = 1 + random() % 5;
        for (size_t i = start; i < std::min(nodes.size(), start + length); ++i) {
          if (random() % 4 != 0) members.insert(nodes[i]);
        }
        claims.push_back(claim_of({members.begin(), members.end()}));
      }
      ASSERT_TRUE(p.offer(provider, std::move(claims), {}).ok());
    }
    std::vector<Claim> rest;
    for (const ir::NodeId id : p.open_nodes()) rest.push_back(claim_of({id}));
    ASSERT_TRUE(p.offer(3, std::move(rest), {}).ok());
    const auto result = p.finish(name_of);
    ASSERT_TRUE(result.ok()) << "round " << round << ": " << result.error().to_string();
    std::set<ir::ValueId> known(g.graph.inputs().begin(), g.graph.inputs().end());
    size_t covered = 0;
    for (const Part& part : result->parts) {
      for (const ir::ValueId input : part.inputs) ASSERT_TRUE(known.count(input)) << "round " << round;
      for (const ir::ValueId output : part.outputs) known.insert(output);
      covered += part.claim.nodes.size();
    }
    ASSERT_EQ(covered, nodes.size());
  }
}

TEST(Partition, ManyOneNodeClaimsAreCheap) {
  GraphBuilder g;
  ir::ValueId at = g.input("x");
  std::vector<Claim> claims;
  for (int i = 0; i < 20000; ++i) {
    claims.push_back(claim_of({g.node(str_cat("n", i), {at, at})}));
    at = g.out(claims.back().nodes[0]);
  }
  g.graph.add_output(at);
  claims[0].nodes.push_back(claims[1].nodes[0]);
  claims.erase(claims.begin() + 1);
  const double begin = test::cpu_seconds();
  Partitioner p(g.graph, is_loop);
  ASSERT_TRUE(p.offer(0, std::move(claims), {}).ok());
  const auto result = p.finish(name_of);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->parts.size(), 19999u);
  EXPECT_LT(test::cpu_seconds() - begin, 2);
}

}  // namespace
}  // namespace tenon::partition
