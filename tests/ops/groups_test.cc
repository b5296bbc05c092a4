// convex_groups() on graphs made by hand and by chance: groups are convex, do not depend on each other in a circle, and are as
// large as that allows.
#include "tenon/ep/groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tenon::ep {
namespace {

using ::testing::ElementsAre;
using Group = std::vector<uint32_t>;

std::vector<bool> all_but(size_t count, const std::set<uint32_t>& others) {
  std::vector<bool> out(count, true);
  for (const uint32_t n : others) out[n] = false;
  return out;
}

/// Whether the graph has a cycle when each group is taken as one node; so also when a group is not convex.
bool has_cycle(const Producers& producers, const std::vector<Group>& groups) {
  std::vector<size_t> of(producers.size());
  for (size_t n = 0; n < of.size(); ++n) of[n] = groups.size() + n;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const uint32_t n : groups[g]) of[n] = g;
  }
  std::set<size_t> done;
  for (size_t before = SIZE_MAX; before != done.size();) {
    before = done.size();
    std::set<size_t> waiting;
    for (size_t n = 0; n < of.size(); ++n) {
      for (const uint32_t p : producers[n]) {
        if (of[p] != of[n] && done.count(of[p]) == 0) waiting.insert(of[n]);
      }
    }
    for (const size_t g : of) {
      if (waiting.count(g) == 0) done.insert(g);
    }
  }
  return done.size() != std::set<size_t>(of.begin(), of.end()).size();
}

TEST(ConvexGroups, AChainIsOneGroup) {
  const Producers chain = {{}, {0}, {1}, {2}};
  EXPECT_THAT(convex_groups(chain, all_but(4, {})), ElementsAre(Group{0, 1, 2, 3}));
  EXPECT_THAT(convex_groups(chain, all_but(4, {2})), ElementsAre(Group{0, 1}, Group{3}));
  EXPECT_TRUE(convex_groups(chain, all_but(4, {0, 1, 2, 3})).empty());
  EXPECT_TRUE(convex_groups(Producers{}, {}).empty());
}

TEST(ConvexGroups, NodesThatNothingConnectsStayApart) {
  EXPECT_THAT(convex_groups({{}, {}, {0}, {1}}, all_but(4, {})), ElementsAre(Group{0, 2}, Group{1, 3}));
}

TEST(ConvexGroups, ADiamondIsOneGroup) {
  EXPECT_THAT(convex_groups({{}, {0}, {0}, {1, 2}}, all_but(4, {})), ElementsAre(Group{0, 1, 2, 3}));
}

// 0 feeds 3 through 1 and through 2, which the provider cannot run: with 0 and 3 in one group a path would leave and return.
TEST(ConvexGroups, ADiamondWithAForeignSideIsSplit) {
  EXPECT_THAT(convex_groups({{}, {0}, {0}, {1, 2}}, all_but(4, {2})), ElementsAre(Group{0, 1}, Group{3}));
  EXPECT_THAT(convex_groups({{}, {0}, {0}, {2, 1}}, all_but(4, {1})), ElementsAre(Group{0, 2}, Group{3}));
}

TEST(ConvexGroups, ADetourOverAnotherGroupSplitsToo) {
  // 0 -> 1 (foreign) -> 2 -> 4, and 0 -> 3 -> 4: the group of 2 and 4 reads that of 0 and 3 over 1.
  const Producers graph = {{}, {0}, {1}, {0}, {2, 3}};
  const auto groups = convex_groups(graph, all_but(5, {1}));
  EXPECT_THAT(groups, ElementsAre(Group{0, 3}, Group{2, 4}));
  EXPECT_FALSE(has_cycle(graph, groups));
}

TEST(ConvexGroups, AForeignNodeBesideAGroupDoesNotSplitIt) {
  // 2 reads 1 and the foreign 0, which reads nothing of the group.
  EXPECT_THAT(convex_groups({{}, {}, {1, 0}, {2}}, all_but(4, {0})), ElementsAre(Group{1, 2, 3}));
}

TEST(ConvexGroups, TwoGroupsThatWouldReadEachOtherStayTwo) {
  // 0 -> 2 (foreign) -> 5 and 1 -> 3 (foreign) -> 4, with 0 -> 4 and 1 -> 5.
  const Producers graph = {{}, {}, {0}, {1}, {3, 0}, {2, 1}};
  const auto groups = convex_groups(graph, all_but(6, {2, 3}));
  EXPECT_FALSE(has_cycle(graph, groups));
  EXPECT_THAT(groups, ElementsAre(Group{0, 4}, Group{1}, Group{5}));
}

TEST(ConvexGroups, ALimitCutsAGroup) {
  const Producers chain = {{}, {0}, {1}, {2}, {3}};
  EXPECT_THAT(convex_groups(chain, all_but(5, {}), 2), ElementsAre(Group{0, 1}, Group{2, 3}, Group{4}));
  EXPECT_THAT(convex_groups(chain, all_but(5, {}), 1), testing::SizeIs(5));
}

TEST(ConvexGroups, RandomGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const uint32_t count = 2 + random() % 14;
    Producers graph(count);
    std::vector<bool> can(count);
    for (uint32_t n = 0; n < count; ++n) {
      can[n] = random() % 4 != 0;
      for (uint32_t edges = n == 0 ? 0 : random() % 3; edges > 0; --edges) graph[n].push_back(random() % n);
    }
    const size_t most = random() % 3 == 0 ? 1 + random() % 4 : 0;
    const std::vector<Group> groups = convex_groups(graph, can, most);
    ASSERT_FALSE(has_cycle(graph, groups)) << "round " << round;
    std::set<uint32_t> members;
    for (const Group& group : groups) {
      EXPECT_TRUE(most == 0 || group.size() <= most);
      EXPECT_TRUE(std::is_sorted(group.begin(), group.end()));
      for (const uint32_t n : group) EXPECT_TRUE(can[n] && members.insert(n).second);
    }
    EXPECT_EQ(members.size(), static_cast<size_t>(std::count(can.begin(), can.end(), true)));
  }
}

TEST(ConvexGroups, NoTwoGroupsAreLeftThatCouldBeOne) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    const uint32_t count = 2 + random() % 22;
    Producers graph(count);
    std::vector<bool> can(count);
    for (uint32_t n = 0; n < count; ++n) {
      can[n] = random() % 4 != 0;
      for (uint32_t edges = n == 0 ? 0 : random() % 3; edges > 0; --edges) graph[n].push_back(random() % n);
    }
    const std::vector<Group> groups = convex_groups(graph, can);
    const auto group_of = [&](uint32_t n) {
      return std::find_if(groups.begin(), groups.end(),
                          [n](const Group& g) { return std::count(g.begin(), g.end(), n) != 0; });
    };
    for (uint32_t n = 0; n < count; ++n) {
      for (const uint32_t producer : graph[n]) {
        if (!can[n] || !can[producer] || group_of(n) == group_of(producer)) continue;
        std::vector<Group> joined = groups;
        Group& into = joined[static_cast<size_t>(group_of(producer) - groups.begin())];
        into.insert(into.end(), group_of(n)->begin(), group_of(n)->end());
        joined.erase(joined.begin() + (group_of(n) - groups.begin()));
        EXPECT_TRUE(has_cycle(graph, joined)) << "round " << round;
      }
    }
  }
}

TEST(ConvexGroups, ALongGraphTakesNoTime) {
  Producers graph(100000);
  for (uint32_t n = 1; n < graph.size(); ++n) graph[n] = {n - 1, n / 2};
  EXPECT_THAT(convex_groups(graph, all_but(graph.size(), {})), testing::SizeIs(1));
  std::vector<bool> can(graph.size());
  for (uint32_t n = 0; n < can.size(); ++n) can[n] = n % 7 != 0;
  EXPECT_GT(convex_groups(graph, can).size(), 10000u);
}

}  // namespace
}  // namespace tenon::ep
