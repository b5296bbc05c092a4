#include "plugins/onednn/compiler/groups.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace tenon::onednn {
namespace {

using Edges = std::vector<std::pair<uint32_t, uint32_t>>;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Groups, AChainIsOne) {
  EXPECT_THAT(group({true, true, true}, {{0, 1}, {1, 2}}), ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(Groups, NothingOfNodesThatCannot) { EXPECT_THAT(group({false, false}, {{0, 1}}), IsEmpty()); }

TEST(Groups, AWayThroughAnotherNodeSplits) {
  // 0 -> 1 -> 2 and 0 -> 2, where 1 cannot.
  EXPECT_THAT(group({true, false, true}, {{0, 1}, {1, 2}, {0, 2}}),
              ElementsAre(ElementsAre(0), ElementsAre(2)));
}

TEST(Groups, ALateInputFromOutsideDoesNotSplit) {
  // 0 -> 2 and 1 -> 2, where 1 cannot and depends on nothing.
  EXPECT_THAT(group({true, false, true}, {{0, 2}, {1, 2}}), ElementsAre(ElementsAre(0, 2)));
}

TEST(Groups, NodesWithoutEdgesStayApart) {
  EXPECT_THAT(group({true, true}, {}), ElementsAre(ElementsAre(0), ElementsAre(1)));
}

bool has_cycle(uint32_t nodes, const Edges& edges, const std::vector<std::vector<uint32_t>>& groups) {
  std::vector<uint32_t> point(nodes), waits(nodes, 0), ready;
  for (uint32_t n = 0; n < nodes; ++n) point[n] = n;
  for (const auto& g : groups) {
    for (const uint32_t n : g) point[n] = g.front();
  }
  std::vector<std::vector<uint32_t>> next(nodes);
  for (const auto& edge : edges) {
    if (point[edge.first] == point[edge.second]) continue;
    next[point[edge.first]].push_back(point[edge.second]);
    ++waits[point[edge.second]];
  }
  for (uint32_t n = 0; n < nodes; ++n) {
    if (waits[n] == 0) ready.push_back(n);
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    for (const uint32_t to : next[ready[i]]) {
      if (--waits[to] == 0) ready.push_back(to);
    }
  }
  return ready.size() != nodes;
}

TEST(Groups, RandomGraphsHaveNoCircleAndNoTwoGroupsThatCouldBeOne) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const uint32_t nodes = 1 + random() % 24;
    std::vector<bool> can(nodes);
    Edges edges;
    for (uint32_t n = 0; n < nodes; ++n) {
      can[n] = random() % 4 != 0;
      for (uint32_t k = 0; n != 0 && k < random() % 3; ++k) edges.emplace_back(random() % n, n);
    }
    const auto groups = group(can, edges);
    EXPECT_FALSE(has_cycle(nodes, edges, groups)) << "seed " << seed;
    size_t members = 0;
    for (const auto& g : groups) members += g.size();
    EXPECT_EQ(members, static_cast<size_t>(std::count(can.begin(), can.end(), true)));
    const auto group_of = [&](uint32_t n) {
      return std::find_if(groups.begin(), groups.end(),
                          [&](const auto& g) { return std::count(g.begin(), g.end(), n) != 0; });
    };
    for (const auto& edge : edges) {
      if (!can[edge.first] || !can[edge.second]) continue;
      const auto a = group_of(edge.first), b = group_of(edge.second);
      if (a == b) continue;
      auto joined = groups;
      auto& into = joined[static_cast<size_t>(a - groups.begin())];
      into.insert(into.end(), b->begin(), b->end());
      joined.erase(joined.begin() + (b - groups.begin()));
      EXPECT_TRUE(has_cycle(nodes, edges, joined)) << "seed " << seed;
    }
  }
}

TEST(Groups, TenThousandNodesTakeNoTime) {
  std::vector<bool> can(10000, true);
  Edges edges;
  for (uint32_t n = 1; n < can.size(); ++n) {
    can[n] = n % 7 != 0;
    edges.emplace_back(n - 1, n);
  }
  EXPECT_GT(group(can, edges).size(), 1000u);
}

}  // namespace
}  // namespace tenon::onednn
