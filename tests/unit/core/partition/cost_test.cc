#include "core/partition/cost.h"
#include "core/partition/label_swap.h"
#include "tests/unit/core/partition/cost_problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tenon::partition {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// What every result of cheapest() keeps to.
Labels checked_cheapest(const CostProblem& problem, const Labels& start) {
  Labels out = cheapest(problem, start);
  EXPECT_EQ(out.size(), problem.node_count());
  EXPECT_EQ(cost_of(problem, out), plain_cost(problem, out));
  EXPECT_LE(plain_cost(problem, out), plain_cost(problem, start));
  EXPECT_TRUE(plain_cost(problem, out) < plain_cost(problem, start) || out == start);
  EXPECT_EQ(cheapest(problem, start), out);
  return out;
}

uint32_t most_of(uint32_t i) { return i % 2 == 0 ? 3 : 1000; }

TEST(Cost, ChainsAndTreesAreTheCheapestOfAll) {
  Random random(1);
  for (uint32_t i = 0; i < 400; ++i) {
    const uint32_t labels = 2 + random.below(3), count = 1 + random.below(labels == 4 ? 6 : 8);
    const CostProblem problem = random.tree(count, labels, most_of(i), i >= 200);
    const Labels out = checked_cheapest(problem, random.possible(problem));
    EXPECT_EQ(plain_cost(problem, out), least_cost(problem)) << i;
  }
}

// Label 0 is the host, which some nodes need: all others choose between 1 and 2.
TEST(Cost, TwoLabelsAreTheCheapestOfAll) {
  Random random(2);
  for (uint32_t i = 0; i < 400; ++i) {
    const uint32_t count = 2 + random.below(7);
    CostProblem problem = random.graph(count, 3, 1, most_of(i));
    for (uint32_t node = 0; node < count; ++node) {
      if (!random.one_in(4)) continue;
      for (const uint32_t label : {0U, 1U, 2U}) problem.times[node * 3 + label] = label == 0 ? 5 : kNever;
    }
    const Labels out = checked_cheapest(problem, random.possible(problem));
    EXPECT_EQ(plain_cost(problem, out), least_cost(problem)) << i;
  }
}

TEST(Cost, NoSwapOfTwoLabelsIsCheaper) {
  Random random(3);
  uint32_t cheapest_of_all = 0;
  for (uint32_t i = 0; i < 200; ++i) {
    const uint32_t labels = 3 + i % 2;
    const CostProblem problem = random.graph(2 + random.below(5), labels, 0, most_of(i / 2));
    const Labels out = checked_cheapest(problem, random.possible(problem));
    for (uint32_t a = 0; a < labels; ++a) {
      for (uint32_t b = a + 1; b < labels; ++b) {
        EXPECT_EQ(least_cost_of_swap(problem, out, a, b), plain_cost(problem, out)) << i;
      }
    }
    cheapest_of_all += plain_cost(problem, out) == least_cost(problem) ? 1 : 0;
  }
  EXPECT_GE(cheapest_of_all, 190U);
}

/// Two labels, a move between them of `latency_ps`, and nodes with the times of `times`.
CostProblem two_labels(std::vector<int64_t> times, double latency_ps) {
  CostProblem out;
  out.labels = 2;
  out.times = std::move(times);
  out.moves.assign(4, {latency_ps, 0});
  return out;
}

TEST(Cost, MovesAreRoundedAndBounded) {
  CostProblem problem;
  problem.labels = 2;
  problem.times = {1, 1};
  problem.moves = {{9, 9}, {2.4, 0.5}, {0, 1e300}, {9, 9}};
  const CostProblem::Value value{0, {1}, 3};
  EXPECT_EQ(problem.move(value, 0, 1), 4);  // 2.4 and 1.5
  EXPECT_EQ(problem.move(value, 1, 0), CostProblem::kMostMove);
  EXPECT_EQ(problem.move(value, 1, 1), 0);
  problem.moves[1] = {-1, 0};
  EXPECT_EQ(problem.move(value, 0, 1), 0);
  problem.moves[1] = {std::numeric_limits<double>::quiet_NaN(), 0};
  EXPECT_EQ(problem.move(value, 0, 1), CostProblem::kMostMove);
  problem.moves[1] = {1e15, 1e15};
  EXPECT_EQ(problem.move(value, 0, 1), CostProblem::kMostMove);
}

TEST(Cost, AValueIsMovedOncePerLabel) {
  CostProblem problem = two_labels({1, kNever, 1, 1, 1, 1}, 10);
  problem.values = {{0, {1, 2}, 0}};
  EXPECT_EQ(cost_of(problem, Labels{0, 1, 1}), 13);
  EXPECT_EQ(cost_of(problem, Labels{0, 0, 1}), 13);
  EXPECT_EQ(cost_of(problem, Labels{0, 0, 0}), 3);
  EXPECT_EQ(cost_of(problem, Labels{1, 0, 0}), kNever);
}

TEST(Cost, CostsThatDoNotFit) {
  CostProblem problem = two_labels({kNever - 1, kNever - 1, kNever - 1, 7}, 1e15);
  problem.values = {{0, {1}, 0}, {0, {1}, 1}};
  EXPECT_EQ(cost_of(problem, Labels{0, 0}), INT64_MAX / 4);
  EXPECT_EQ(cost_of(problem, Labels{0, 1}), INT64_MAX / 4);
  EXPECT_THAT(cheapest(problem, Labels{0, 1}), ElementsAre(0, 1));
}

TEST(Cost, NothingAndOneNode) {
  EXPECT_THAT(cheapest({}, {}), IsEmpty());
  EXPECT_EQ(cost_of({}, {}), 0);
  EXPECT_THAT(cheapest(two_labels({3, 2}, 1), Labels{0}), ElementsAre(1));
  EXPECT_THAT(cheapest(two_labels({3, kNever}, 1), Labels{0}), ElementsAre(0));
}

// Nodes whose labels cost the same keep them, also when others change.
TEST(Cost, NodesDoNotChangeWithoutGain) {
  CostProblem problem = two_labels({1, 1, 1, 1, 9, 1, 5, 5, 1, 9}, 0);
  EXPECT_THAT(cheapest(problem, Labels{0, 1, 1, 1, 0}), ElementsAre(0, 1, 1, 1, 0));
  EXPECT_THAT(cheapest(problem, Labels{0, 1, 0, 1, 0}), ElementsAre(0, 1, 1, 1, 0));
  EXPECT_THAT(swap_labels(problem, Labels{0, 0, 0, 0, 1}, 0, 1), ElementsAre(0, 0, 1, 0, 0));
  EXPECT_THAT(swap_labels(problem, Labels{1, 1, 0, 1, 1}, 1, 0), ElementsAre(1, 1, 1, 1, 0));
}

TEST(Cost, ACycleEnds) {
  CostProblem problem = two_labels({5, 1, 5, 1, 1, 3}, 10);
  problem.values = {{0, {1}, 0}, {1, {2}, 0}, {2, {0}, 0}};
  EXPECT_THAT(cheapest(problem, Labels{0, 0, 0}), ElementsAre(1, 1, 1));
}

// Label 2 is cheaper only when both nodes take it, and no exchange gives it to both.
TEST(Cost, OtherStartsAreTried) {
  CostProblem problem;
  problem.labels = 3;
  problem.times = {1, kNever, 3, kNever, 1, 3};
  problem.moves.assign(9, {100, 0});
  problem.moves[1] = {10, 0};  // from 0 to 1
  problem.values = {{0, {1}, 0}, {0, {1}, 0}};
  const Labels start = {0, 1};
  EXPECT_EQ(swap_labels(problem, start, 0, 2), start);
  EXPECT_EQ(swap_labels(problem, start, 1, 2), start);
  EXPECT_THAT(cheapest(problem, start), ElementsAre(2, 2));
  problem.times[2] = problem.times[5] = 11;  // as much as `start`
  EXPECT_EQ(cheapest(problem, start), start);
}

TEST(Cost, LargeGraphs) {
  Random random(4);
  for (const bool is_chain : {true, false}) {
    const uint32_t count = is_chain ? 100'000 : 20'000;
    CostProblem problem = random.nodes(count, 3, 0, 1000);
    for (uint32_t node = 0; node + 1 < count; ++node) {
      problem.values.push_back({node, {node + 1}, random.bytes(1000)});
      if (!is_chain && node % 4 == 0 && node + 3 < count) problem.values.back().consumers.push_back(node + 3);
    }
    const Labels start = random.possible(problem), out = cheapest(problem, start);
    EXPECT_LT(plain_cost(problem, out), plain_cost(problem, start));
  }
}

}  // namespace
}  // namespace tenon::partition
