#include "host/compile/cost_model.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "core/ops/work.h"

namespace tenon::runtime {
namespace {

using partition::CostProblem;

constexpr double kNanosecond = 1000, kMicrosecond = 1e6;  // in picoseconds
constexpr int64_t kMost = 1'000'000'000'000'000;  // a node that takes more is as bad as one that takes this

int64_t whole(double ps) { return static_cast<int64_t>(std::clamp(std::round(ps), 1.0, double{kMost})); }

/// Fills the times of a problem.
class Times {
 public:
  Times(const ir::Graph& graph, std::span<const ir::NodeId> order, std::span<const CostedInstance> instances,
        const Assignment& by_order, CostProblem* problem)
      : order_(order), instances_(instances), by_order_(by_order), problem_(*problem) {
    for (size_t at = 0; at < order.size(); ++at) {
      position_.emplace(order[at], at);
      work_.push_back(ops::work_of(graph, graph.node(order[at])));
      names_.push_back(name_of_work(graph, graph.node(order[at])));
    }
  }

  void fill() {
    runs_.assign(instances_.size(), std::vector<bool>(order_.size(), false));
    given_.assign(instances_.size(), std::vector<int64_t>(order_.size(), 0));
    for (size_t p = 0; p < instances_.size(); ++p) {
      for (const partition::Claim& claim : instances_[p].claims) add_claim(p, claim);
    }
    for (size_t at = 0; at < order_.size(); ++at) {
      if (by_order_[at] == partition::kNoProvider) {
        problem_.times[at * problem_.labels + problem_.labels - 1] = 0;
      } else {
        runs_[by_order_[at]][at] = true;
        fill_node(at);
      }
    }
  }

 private:
  void add_claim(size_t p, const partition::Claim& claim) {
    ops::Work all;
    for (const ir::NodeId id : claim.nodes) {
      const size_t at = position_.at(id);
      runs_[p][at] = true;
      all.flops += work_[at].flops, all.bytes += work_[at].bytes;
    }
    const partition::Cost& cost = claim.cost;
    if (cost.flops == 0 && cost.bytes == 0 && cost.launch_ns == 0 && cost.time_ns == 0) return;
    Roofline roofline = instances_[p].roofline;
    const double per_flop = cost.flops > 0 ? cost.flops / std::max(all.flops, 1.0) : 1;
    const double per_byte = cost.bytes > 0 ? cost.bytes / std::max(all.bytes, 1.0) : 1;
    if (cost.launch_ns > 0)
      roofline.launch_ps = cost.launch_ns * kNanosecond / static_cast<double>(claim.nodes.size());
    double sum = 0;
    for (const ir::NodeId id : claim.nodes) {
      const ops::Work& work = work_[position_.at(id)];
      given_[p][position_.at(id)] = roofline.time(work.flops * per_flop, work.bytes * per_byte);
      sum += static_cast<double>(given_[p][position_.at(id)]);
    }
    if (cost.time_ns <= 0) return;
    for (const ir::NodeId id : claim.nodes) {
      int64_t& given = given_[p][position_.at(id)];
      given = whole(cost.time_ns * kNanosecond * static_cast<double>(given) / sum);
    }
  }

  int64_t expected(size_t p, size_t at) const {
    return given_[p][at] != 0 ? given_[p][at] : instances_[p].roofline.time(work_[at].flops, work_[at].bytes);
  }

  void fill_node(size_t at) {
    const partition::ProviderIndex first = by_order_[at];
    std::optional<int64_t> measured_on_host;
    for (const CostedInstance& instance : instances_) {
      const int64_t* ps = instance.in_host_memory ? instance.measured.find(names_[at]) : nullptr;
      if (ps != nullptr) measured_on_host = std::min(*ps, measured_on_host.value_or(*ps));
    }
    const auto time_of = [&](size_t p) {
      const CostedInstance& instance = instances_[p];
      if (const int64_t* ps = instance.measured.find(names_[at])) return std::min(*ps, kMost);
      if (!instance.in_host_memory) return expected(p, at);
      const int64_t as_ordered = measured_on_host.value_or(expected(p, at));
      return p == first || !instances_[first].in_host_memory ? as_ordered : 2 * as_ordered;
    };
    for (size_t p = 0; p < instances_.size(); ++p) {
      if (runs_[p][at]) problem_.times[at * problem_.labels + p] = time_of(p);
    }
  }

  std::span<const ir::NodeId> order_;
  std::span<const CostedInstance> instances_;
  const Assignment& by_order_;
  CostProblem& problem_;
  std::unordered_map<ir::NodeId, size_t> position_;
  std::vector<ops::Work> work_;
  std::vector<std::string> names_;
  std::vector<std::vector<bool>> runs_;      // per instance and node
  std::vector<std::vector<int64_t>> given_;  // by the provider's own estimate; 0: none
};

/// A value leaves a processor's provider in plain form, which the next one may have to change; devices are behind a bus.
CostProblem::Move to_host(const CostedInstance& instance) {
  if (!instance.in_host_memory) return {10 * kMicrosecond, kNanosecond / 12};
  return {150 * kNanosecond, kNanosecond / 40};
}

void add_moves(std::span<const CostedInstance> instances, CostProblem* problem) {
  const uint32_t host = problem->labels - 1;
  problem->moves.resize(size_t{problem->labels} * problem->labels);
  for (uint32_t from = 0; from < problem->labels; ++from) {
    for (uint32_t to = 0; to < problem->labels; ++to) {
      CostProblem::Move& move = problem->moves[size_t{from} * problem->labels + to];
      if (from == to) continue;
      for (const uint32_t end : {from, to}) {
        // What the caller gives, or a control-flow node makes, is in host memory and in plain form.
        if (end == host || ((from == host || to == host) && instances[end].in_host_memory)) continue;
        const CostProblem::Move part = to_host(instances[end]);
        move.latency_ps += part.latency_ps, move.ps_per_byte += part.ps_per_byte;
      }
    }
  }
}

/// Adds nodes that only the host runs: what gives the graph its inputs, and takes its outputs.
uint32_t add_host_node(CostProblem* problem) {
  problem->times.insert(problem->times.end(), problem->labels - 1, CostProblem::kCannotRun);
  problem->times.push_back(0);
  return problem->node_count() - 1;
}

void add_values(const ir::Graph& graph, std::span<const ir::NodeId> order, CostProblem* problem) {
  std::unordered_map<ir::NodeId, uint32_t> position;
  for (size_t at = 0; at < order.size(); ++at) position.emplace(order[at], static_cast<uint32_t>(at));
  for (ir::ValueId id = 0; id < graph.value_limit(); ++id) {
    if (!graph.has_value(id) || graph.value(id).is_constant()) continue;
    const ir::Value& value = graph.value(id);
    CostProblem::Value out{0, {}, ops::count_bytes(value.type)};
    for (const ir::Use& use : value.uses) out.consumers.push_back(position.at(use.node));
    std::sort(out.consumers.begin(), out.consumers.end());
    out.consumers.erase(std::unique(out.consumers.begin(), out.consumers.end()), out.consumers.end());
    if (value.output_count != 0 && value.producer != ir::kNone)
      out.consumers.push_back(add_host_node(problem));
    if (out.consumers.empty()) continue;
    out.producer = value.producer != ir::kNone ? position.at(value.producer) : add_host_node(problem);
    problem->values.push_back(std::move(out));
  }
}

}  // namespace

int64_t Roofline::time(double flops, double bytes) const {
  return whole(std::max(flops / flops_per_ps, bytes / bytes_per_ps) + launch_ps);
}

Roofline roofline_of(const Instance& instance, bool in_host_memory, uint32_t threads) {
  const provider::DeviceInfo& device = instance.device().info();
  const double cores = threads;
  if (in_host_memory) return {0.03 * cores, 0.01, 300 * kNanosecond};
  if (device.kind == TENON_DEVICE_CPU || device.software_emulated)
    return {0.015 * cores, 0.008, 10 * kMicrosecond};
  if (device.kind == TENON_DEVICE_GPU) return {4, 0.2, 5 * kMicrosecond};
  return {1, 0.05, 20 * kMicrosecond};
}

CostProblem cost_problem(const ir::Graph& graph, std::span<const ir::NodeId> order,
                         std::span<const CostedInstance> instances, const Assignment& by_order) {
  CostProblem problem;
  problem.labels = static_cast<uint32_t>(instances.size() + 1);
  problem.times.assign(order.size() * problem.labels, CostProblem::kCannotRun);
  Times(graph, order, instances, by_order, &problem).fill();
  add_moves(instances, &problem);
  add_values(graph, order, &problem);
  return problem;
}

std::vector<uint32_t> to_labels(const Assignment& assignment, const CostProblem& problem) {
  std::vector<uint32_t> out(problem.node_count(), problem.labels - 1);
  for (size_t at = 0; at < assignment.size(); ++at) {
    if (assignment[at] != partition::kNoProvider) out[at] = assignment[at];
  }
  return out;
}

Assignment from_labels(std::span<const uint32_t> labels, size_t nodes, const CostProblem& problem) {
  Assignment out;
  for (const uint32_t label : labels.first(nodes))
    out.push_back(label == problem.labels - 1 ? partition::kNoProvider : label);
  return out;
}

}  // namespace tenon::runtime
