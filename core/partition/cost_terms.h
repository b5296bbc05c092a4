// What the parts of the search for the cheapest assignment share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/partition/cost.h"

namespace tenon::partition {

/// What costs that do not fit count as.
inline constexpr int64_t kMostCost = INT64_MAX / 4;

/// The sum of two costs, kMostCost when it does not fit.
inline int64_t plus(int64_t a, int64_t b) {
  return std::min(std::min(a, kMostCost) + std::min(b, kMostCost), kMostCost);
}

/// A set of labels that is emptied in constant time.
class LabelSet {
 public:
  explicit LabelSet(uint32_t labels) : round_of_(labels, 0) {}
  void clear() {
    labels_.clear();
    ++round_;
  }
  void insert(uint32_t label) {
    if (has(label)) return;
    round_of_[label] = round_;
    labels_.push_back(label);
  }
  bool has(uint32_t label) const { return round_of_[label] == round_; }
  const std::vector<uint32_t>& labels() const { return labels_; }

 private:
  std::vector<uint64_t> round_of_;
  uint64_t round_ = 1;
  std::vector<uint32_t> labels_;
};

inline bool can_run(const CostProblem& problem, uint32_t node, uint32_t label) {
  return problem.time(node, label) != CostProblem::kCannotRun;
}

}  // namespace tenon::partition
