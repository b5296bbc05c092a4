// The cheapest assignment of nodes to labels: the providers, and the host for what no provider runs. The cost is the time
// of each node where it runs, and the time to move each value to the other labels that read it.
//
// Costs are whole picoseconds, so that equal inputs give equal assignments on every machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::partition {

struct CostProblem {
  /// The time of a node where it cannot run.
  static constexpr int64_t kCannotRun = INT64_MAX;
  /// The longest move, 1000 s. What takes longer, or is not a number, counts as this.
  static constexpr int64_t kMostMove = 1'000'000'000'000'000;

  /// A value that a node makes and others read. It is moved once to each label that has a consumer, except its producer's.
  struct Value {
    uint32_t producer;
    std::vector<uint32_t> consumers;  // distinct, not empty, without the producer
    double bytes;
  };

  /// `from` and `to` are labels. 0 where they are the same.
  struct Move {
    double latency_ps = 0, ps_per_byte = 0;
  };

  uint32_t labels = 0;
  std::vector<int64_t>
      times;  // [node * labels + label], 0 or more, or kCannotRun; each node can run somewhere
  std::vector<Value> values;
  std::vector<Move> moves;  // [from * labels + to]

  uint32_t node_count() const { return labels == 0 ? 0 : static_cast<uint32_t>(times.size() / labels); }
  int64_t time(uint32_t node, uint32_t label) const { return times[size_t{node} * labels + label]; }
  /// In whole picoseconds, from 0 to kMostMove: the latency and the time of the bytes, each rounded.
  int64_t move(const Value& value, uint32_t from, uint32_t to) const;
};

/// What `assignment` costs: a label per node. Costs that do not fit are INT64_MAX / 4. kCannotRun when a node cannot run
/// where it is assigned.
int64_t cost_of(const CostProblem& problem, std::span<const uint32_t> assignment);

/// An assignment that costs no more than `start`, which must be possible, and is `start` unless it costs less. The
/// cheapest of all where every value has one consumer and every node makes one value at most (chains and trees, by
/// dynamic programming), and where all nodes with a choice have it between the same two labels (by a minimum cut).
/// Otherwise no exchange of two labels between any nodes makes it cheaper (Boykov, Veksler and Zabih, "Fast approximate
/// energy minimization via graph cuts", 2001). The same result for the same arguments.
std::vector<uint32_t> cheapest(const CostProblem& problem, std::span<const uint32_t> start);

}  // namespace tenon::partition
