// What nodes and moves of values cost, in picoseconds: as measured on this machine, else as a roofline says.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/ir/graph.h"
#include "core/partition/cost.h"
#include "core/partition/partition.h"
#include "host/compile/times_keys.h"
#include "host/device/instance.h"
#include "host/services/timetable.h"

namespace tenon::runtime {

/// What a device may be expected to do (S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model",
/// 2009). The numbers are of common hardware: they tell a GPU from a processor, not one GPU from another.
struct Roofline {
  double flops_per_ps = 0, bytes_per_ps = 0, launch_ps = 0;

  int64_t time(double flops, double bytes) const;
};
Roofline roofline_of(const Instance& instance, bool in_host_memory, uint32_t threads);

/// An instance as the model sees it.
struct CostedInstance {
  std::vector<partition::Claim> claims;  // what it would run if it were asked alone
  bool in_host_memory = true;            // its claims read and write host memory
  Roofline roofline;
  Timetable measured;  // by name_of_work()
};

/// The problem whose labels are the instances, in their order, and the host as the last. Nodes are in the order of `order`, which is
/// topological, followed by the graph's inputs and outputs, which are fixed to the host. `by_order`: the answer of
/// the order of preference; each node can run there.
///
/// The time of a node on an instance is what was measured there. Otherwise, on processors, the order of preference counts as right: the
/// instance that it gives the node to is as fast as the measured ones, or as the roofline, and all others take twice that. On
/// other devices it is the roofline's, or the provider's own estimate.
partition::CostProblem cost_problem(const ir::Graph& graph, std::span<const ir::NodeId> order,
                                    std::span<const CostedInstance> instances, const Assignment& by_order);

/// `assignment` as the solver takes it, and back.
std::vector<uint32_t> to_labels(const Assignment& assignment, const partition::CostProblem& problem);
Assignment from_labels(std::span<const uint32_t> labels, size_t nodes, const partition::CostProblem& problem);

}  // namespace tenon::runtime
