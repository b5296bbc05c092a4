// Random problems for the search for the cheapest assignment, and the search by trying everything.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "core/partition/cost.h"

namespace tenon::partition {

using Labels = std::vector<uint32_t>;
inline constexpr int64_t kNever = CostProblem::kCannotRun;

class Random {
 public:
  explicit Random(uint32_t seed) : random_(seed) {}
  uint32_t below(uint32_t end) { return static_cast<uint32_t>(random_() % end); }
  bool one_in(uint32_t n) { return below(n) == 0; }

  /// Nodes that run with labels from `first` to `labels`, each with a few of them only; `most` bounds times, so that
  /// low ones give ties. Moves cost about as much as nodes.
  CostProblem nodes(uint32_t count, uint32_t labels, uint32_t first, uint32_t most) {
    CostProblem out;
    out.labels = labels;
    for (uint32_t node = 0; node < count; ++node) {
      const uint32_t sure = first + below(labels - first);
      for (uint32_t label = 0; label < labels; ++label) {
        const bool runs = label == sure || (label >= first && !one_in(4));
        out.times.push_back(runs ? below(most + 1) : kNever);
      }
    }
    for (uint32_t i = 0; i < labels * labels; ++i) {
      out.moves.push_back({one_in(3) ? 0.0 : below(most), one_in(3) ? 0.0 : below(8) / 4.0});
    }
    return out;
  }
  double bytes(uint32_t most) { return one_in(4) ? 0 : below(most); }

  /// Each node but one has one consumer, in an order that is not that of the numbers: a tree when `wide`, else a chain.
  CostProblem tree(uint32_t count, uint32_t labels, uint32_t most, bool wide) {
    CostProblem out = nodes(count, labels, 0, most);
    const Labels order = shuffled(count);
    for (uint32_t i = 0; i + 1 < count; ++i) {
      const uint32_t consumer = wide ? i + 1 + below(count - i - 1) : i + 1;
      if (!one_in(8)) out.values.push_back({order[i], {order[consumer]}, bytes(most)});
    }
    return out;
  }
  /// Values with several consumers, and nodes that make several values.
  CostProblem graph(uint32_t count, uint32_t labels, uint32_t first, uint32_t most) {
    CostProblem out = nodes(count, labels, first, most);
    const Labels order = shuffled(count);
    for (uint32_t i = 0; i + 1 < count; ++i) {
      for (uint32_t made = below(3); made > 0; --made) {
        CostProblem::Value value{order[i], {}, bytes(most)};
        for (uint32_t k = i + 1; k < count; ++k) {
          if (one_in(3)) value.consumers.push_back(order[k]);
        }
        if (!value.consumers.empty()) out.values.push_back(value);
      }
    }
    return out;
  }
  Labels possible(const CostProblem& problem) {
    Labels out;
    while (out.size() < problem.node_count()) {
      const uint32_t label = below(problem.labels);
      if (problem.time(static_cast<uint32_t>(out.size()), label) != kNever) out.push_back(label);
    }
    return out;
  }

 private:
  Labels shuffled(uint32_t count) {
    Labels out(count);
    for (uint32_t i = 0; i < count; ++i) out[i] = i;
    for (uint32_t i = count; i > 1; --i) std::swap(out[i - 1], out[below(i)]);
    return out;
  }

  std::mt19937 random_;
};

/// The definition, without the code under test: no time that a node cannot run with, and a move for each label that reads.
inline int64_t plain_cost(const CostProblem& p, const Labels& labels) {
  int64_t sum = 0;
  for (uint32_t node = 0; node < p.node_count(); ++node) {
    if (p.time(node, labels[node]) == kNever) return kNever;
    sum += p.time(node, labels[node]);
  }
  for (const CostProblem::Value& value : p.values) {
    const uint32_t from = labels[value.producer];
    for (uint32_t to = 0; to < p.labels; ++to) {
      const bool read = std::any_of(value.consumers.begin(), value.consumers.end(),
                                    [&](uint32_t consumer) { return labels[consumer] == to; });
      const CostProblem::Move& m = p.moves[from * p.labels + to];
      if (read && to != from) sum += std::llround(m.latency_ps) + std::llround(value.bytes * m.ps_per_byte);
    }
  }
  return sum;
}

/// The least cost of all assignments in which each node has one of the labels that `allowed` gives it.
template <class Allowed>
int64_t least_cost(const CostProblem& problem, Allowed&& allowed) {
  Labels labels(problem.node_count(), 0);
  int64_t least = kNever;
  while (true) {
    bool is_allowed = true;
    for (uint32_t node = 0; node < labels.size(); ++node) is_allowed &= allowed(node, labels[node]);
    if (is_allowed) least = std::min(least, plain_cost(problem, labels));
    size_t digit = 0;
    while (digit < labels.size() && ++labels[digit] == problem.labels) labels[digit++] = 0;
    if (digit == labels.size()) return least;
  }
}
inline int64_t least_cost(const CostProblem& problem) {
  return least_cost(problem, [](uint32_t, uint32_t) { return true; });
}
inline int64_t least_cost_of_swap(const CostProblem& problem, const Labels& now, uint32_t a, uint32_t b) {
  return least_cost(problem, [&](uint32_t node, uint32_t label) {
    return label == now[node] || ((now[node] == a || now[node] == b) && (label == a || label == b));
  });
}

}  // namespace tenon::partition
