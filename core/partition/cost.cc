#include "core/partition/cost.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/partition/cost_terms.h"
#include "core/partition/label_swap.h"

namespace tenon::partition {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

using Assignment = std::vector<uint32_t>;

/// In whole picoseconds, from 0 to kMostMove.
int64_t rounded(double ps) {
  if (!(ps < static_cast<double>(CostProblem::kMostMove))) return CostProblem::kMostMove;  // also NaN
  return ps > 0 ? std::llround(ps) : 0;
}

/// The cheapest assignment of chains and trees: takes for each label of a node the least that it and all nodes before it
/// can cost. Empty when a node makes several values, a value has several consumers, or there is a cycle.
Assignment cheapest_of_trees(const CostProblem& problem, std::span<const uint32_t> start) {
  const uint32_t nodes = problem.node_count(), labels = problem.labels;
  std::vector<uint32_t> value_of(nodes, kNone), waits_for(nodes, 0);
  for (uint32_t v = 0; v < problem.values.size(); ++v) {
    const CostProblem::Value& value = problem.values[v];
    if (value.consumers.size() != 1 || value_of[value.producer] != kNone) return {};
    value_of[value.producer] = v;
    ++waits_for[value.consumers[0]];
  }
  std::vector<uint32_t> order;
  for (uint32_t node = 0; node < nodes; ++node) {
    if (waits_for[node] == 0) order.push_back(node);
  }
  // cost: [node * labels + label]. choice: [node * labels + label of the consumer], the best label of the node; all the
  // same for a node without consumer.
  std::vector<int64_t> cost(problem.times);
  std::vector<uint32_t> choice(cost.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t node = order[i], v = value_of[node];
    const CostProblem::Value* value = v == kNone ? nullptr : &problem.values[v];
    for (uint32_t to = 0; to < labels; ++to) {
      int64_t least = CostProblem::kCannotRun;
      const auto consider = [&](uint32_t label) {
        const int64_t own = cost[size_t{node} * labels + label];
        if (own == CostProblem::kCannotRun) return;
        const int64_t sum = plus(own, value == nullptr ? 0 : problem.move(*value, label, to));
        if (sum >= least) return;
        least = sum;
        choice[size_t{node} * labels + to] = label;
      };
      consider(start[node]);  // of equal labels, the one that the node has already
      for (uint32_t label = 0; label < labels; ++label) consider(label);
      if (value == nullptr) continue;
      int64_t& sum = cost[size_t{value->consumers[0]} * labels + to];
      if (sum != CostProblem::kCannotRun) sum = plus(sum, least);
    }
    if (value != nullptr && --waits_for[value->consumers[0]] == 0) order.push_back(value->consumers[0]);
  }
  if (order.size() != nodes) return {};
  Assignment out(nodes);
  for (size_t i = order.size(); i-- > 0;) {
    const uint32_t node = order[i], v = value_of[node];
    const uint32_t to = v == kNone ? 0 : out[problem.values[v].consumers[0]];
    out[node] = choice[size_t{node} * labels + to];
  }
  return out;
}

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

/// The pairs of labels that a node can choose from.
Pairs choices(const CostProblem& problem) {
  Pairs out;
  for (uint32_t a = 0; a < problem.labels; ++a) {
    for (uint32_t b = a + 1; b < problem.labels; ++b) {
      for (uint32_t node = 0; node < problem.node_count(); ++node) {
        if (!can_run(problem, node, a) || !can_run(problem, node, b)) continue;
        out.emplace_back(a, b);
        break;
      }
    }
  }
  return out;
}

/// The swaps that searches have made: the pair's place, and the cost before it.
using Swaps = std::set<std::pair<size_t, int64_t>>;

/// Swaps until none of them makes `now` cheaper, or until it is where an earlier search has been: that ended at this
/// cost or less.
void improve(const CostProblem& problem, const Pairs& pairs, Swaps& made, Assignment& now) {
  int64_t cost = cost_of(problem, now);
  size_t settled = 0;  // so many pairs, up to this one, make nothing cheaper
  for (size_t i = 0; settled < pairs.size(); i = (i + 1) % pairs.size()) {
    if (!made.emplace(i, cost).second) return;
    Assignment next = swap_labels(problem, now, pairs[i].first, pairs[i].second);
    const int64_t next_cost = cost_of(problem, next);
    ++settled;
    if (next_cost >= cost) continue;
    cost = next_cost;
    now = std::move(next);
    settled = 1;
  }
}

}  // namespace

int64_t CostProblem::move(const Value& value, uint32_t from, uint32_t to) const {
  if (from == to) return 0;
  const Move& m = moves[size_t{from} * labels + to];
  // Rounded one by one: some compilers would fuse the product and the sum, and others not.
  return std::min(rounded(m.latency_ps) + rounded(value.bytes * m.ps_per_byte), kMostMove);
}

int64_t cost_of(const CostProblem& problem, std::span<const uint32_t> assignment) {
  int64_t sum = 0;
  for (uint32_t node = 0; node < assignment.size(); ++node) {
    if (!can_run(problem, node, assignment[node])) return CostProblem::kCannotRun;
    sum = plus(sum, problem.time(node, assignment[node]));
  }
  LabelSet read(problem.labels);
  for (const CostProblem::Value& value : problem.values) {
    read.clear();
    for (const uint32_t consumer : value.consumers) read.insert(assignment[consumer]);
    for (const uint32_t to : read.labels())
      sum = plus(sum, problem.move(value, assignment[value.producer], to));
  }
  return sum;
}

std::vector<uint32_t> cheapest(const CostProblem& problem, std::span<const uint32_t> start) {
  Assignment best(start.begin(), start.end());
  int64_t least = cost_of(problem, start);
  const auto consider = [&](Assignment assignment) {
    const int64_t cost = cost_of(problem, assignment);
    if (cost >= least) return;
    least = cost;
    best = std::move(assignment);
  };
  if (Assignment exact = cheapest_of_trees(problem, start); !exact.empty()) {
    consider(std::move(exact));
    return best;
  }
  const Pairs pairs = choices(problem);
  Swaps made;
  Assignment swapped = best;
  improve(problem, pairs, made, swapped);
  consider(std::move(swapped));
  if (pairs.size() < 2) return best;  // that was the cheapest of all
  for (uint32_t label = 0; label < problem.labels; ++label) {
    Assignment other(start.begin(), start.end());
    for (uint32_t node = 0; node < other.size(); ++node) {
      if (can_run(problem, node, label)) other[node] = label;
    }
    improve(problem, pairs, made, other);
    consider(std::move(other));
  }
  return best;
}

}  // namespace tenon::partition
