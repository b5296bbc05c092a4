#include "core/partition/min_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tenon::partition {
namespace {

using ::testing::ElementsAre;

constexpr uint32_t kSource = MinCut::kSource, kSink = MinCut::kSink;

struct Edge {
  uint32_t from, to;
  int64_t capacity, back;
};

struct Network {
  uint32_t nodes = 2;
  std::vector<Edge> edges;

  std::vector<bool> cut(std::span<const uint32_t> wanted = {}) const {
    MinCut cut(nodes);
    for (const Edge& e : edges) cut.add_edge(e.from, e.to, e.capacity, e.back);
    return cut.source_side(wanted);
  }
  /// What it costs to have the nodes of the bits of `side` on the source's side.
  int64_t cost(uint32_t side) const {
    int64_t sum = 0;
    for (const Edge& e : edges) {
      const bool from = (side >> e.from & 1) != 0, to = (side >> e.to & 1) != 0;
      if (from != to) sum += from ? e.capacity : e.back;
    }
    return sum;
  }
  bool is_cut(uint32_t side) const { return (side >> kSource & 1) != 0 && (side >> kSink & 1) == 0; }
};

uint32_t bits(const std::vector<bool>& side) {
  uint32_t out = 0;
  for (size_t i = 0; i < side.size(); ++i) out |= static_cast<uint32_t>(side[i]) << i;
  return out;
}

Network random_network(std::mt19937& random, int64_t most) {
  const auto below = [&](uint32_t end) { return static_cast<uint32_t>(random() % end); };
  Network out;
  out.nodes = 2 + below(8);
  const uint32_t edges = below(3 * out.nodes);
  for (uint32_t i = 0; i < edges; ++i) {
    const uint32_t from = below(out.nodes), to = below(out.nodes);
    const auto capacity = [&] { return static_cast<int64_t>(random()) % (most + 1); };
    if (from != to) out.edges.push_back({from, to, capacity(), below(2) == 0 ? 0 : capacity()});
  }
  return out;
}

TEST(MinCut, IsTheCheapestOfAllCuts) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const Network network = random_network(random, i % 2 == 0 ? 3 : 1'000'000);
    const uint32_t side = bits(network.cut());
    ASSERT_TRUE(network.is_cut(side)) << i;
    for (uint32_t other = 0; other < 1U << network.nodes; ++other) {
      if (!network.is_cut(other)) continue;
      ASSERT_LE(network.cost(side), network.cost(other)) << i;
    }
  }
}

// Capacities up to 2 give many cuts of the same cost.
TEST(MinCut, KeepsWantedNodesOnTheSideOfTheSource) {
  std::mt19937 random(2);
  for (int i = 0; i < 500; ++i) {
    const Network network = random_network(random, 2);
    std::vector<uint32_t> wanted;
    for (uint32_t node = 0; node < network.nodes; ++node) {
      if (random() % 2 == 0) wanted.push_back(node);
    }
    int64_t least = INT64_MAX;
    for (uint32_t side = 0; side < 1U << network.nodes; ++side) {
      if (network.is_cut(side)) least = std::min(least, network.cost(side));
    }
    const auto is_cheapest = [&](uint32_t side) {
      return network.is_cut(side) && network.cost(side) == least;
    };
    uint32_t possible = 0, kept = 0;
    for (uint32_t side = 0; side < 1U << network.nodes; ++side) {
      if (is_cheapest(side)) possible |= side;
    }
    for (const uint32_t node : wanted) kept |= possible & 1U << node;
    uint32_t expected = possible;
    for (uint32_t side = 0; side < 1U << network.nodes; ++side) {
      if (is_cheapest(side) && (side & kept) == kept) expected &= side;
    }
    EXPECT_EQ(bits(network.cut(wanted)), expected) << i;
  }
}

TEST(MinCut, WithoutEdgesOnlyTheSourceIsOnItsSide) {
  EXPECT_THAT(MinCut().source_side(), ElementsAre(true, false));
  EXPECT_THAT(MinCut(3).source_side(), ElementsAre(true, false, false));
}

TEST(MinCut, NodesCanBeAdded) {
  MinCut cut;
  const uint32_t a = cut.add_node(), b = cut.add_node();
  EXPECT_EQ(a, 2U);
  EXPECT_EQ(b, 3U);
  cut.add_edge(kSource, a, 5);
  cut.add_edge(a, b, 2);
  cut.add_edge(b, kSink, 3);
  EXPECT_THAT(cut.source_side(), ElementsAre(true, false, true, false));
}

// Capacities that do not fit are as large as any other that does not.
TEST(MinCut, UnlimitedCapacities) {
  MinCut cut(4);
  cut.add_edge(kSource, 2, INT64_MAX, INT64_MAX);
  cut.add_edge(2, 3, INT64_MAX, INT64_MAX);
  cut.add_edge(3, kSink, MinCut::kUnlimited - 1, INT64_MAX);
  EXPECT_THAT(cut.source_side(), ElementsAre(true, false, true, true));
  MinCut across(2);
  across.add_edge(kSource, kSink, INT64_MAX, INT64_MAX);
  across.add_edge(kSink, kSource, INT64_MAX, INT64_MAX);
  EXPECT_THAT(across.source_side(), ElementsAre(true, false));
}

TEST(MinCut, LongGraphsTakeNoRecursion) {
  constexpr uint32_t kNodes = 200'000;
  MinCut cut(kNodes);
  cut.add_edge(kSource, 2, 100);
  for (uint32_t node = 2; node + 1 < kNodes; ++node)
    cut.add_edge(node, node + 1, node == kNodes / 2 ? 1 : 2, 2);
  cut.add_edge(kNodes - 1, kSink, 100);
  const std::vector<bool> side = cut.source_side();
  EXPECT_TRUE(side[kNodes / 2]);
  EXPECT_FALSE(side[kNodes / 2 + 1]);
}

}  // namespace
}  // namespace tenon::partition
