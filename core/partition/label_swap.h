// The best exchange of two labels, one step of the search for the cheapest assignment.
#pragma once

#include <cstdint>
#include <vector>

#include "core/partition/cost.h"

namespace tenon::partition {

/// The cheapest assignment in which the nodes that `now` gives one of the two labels, and that can run with both, choose
/// between the two, and all others stay. Of equal ones, one that takes `first` from no node that can keep it. `now` is
/// possible and the labels differ. Found as a minimum cut: exact while costs fit (kMostCost).
std::vector<uint32_t> swap_labels(const CostProblem& problem, const std::vector<uint32_t>& now,
                                  uint32_t first, uint32_t second);

}  // namespace tenon::partition
