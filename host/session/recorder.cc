#include "host/session/recorder.h"

#include <algorithm>

#include "core/ops/work.h"
#include "host/compile/cost_model.h"
#include "host/compile/times_keys.h"

namespace tenon::session {
namespace {

using runtime::CompiledPart;
using runtime::Executable;
using runtime::Timetable;

constexpr double kPicoseconds = 1000;  // of a nanosecond

int64_t median_ps(const std::vector<double>& runs) {
  std::vector<double> sorted(runs.begin() + (runs.size() > 1 ? 1 : 0), runs.end());
  std::sort(sorted.begin(), sorted.end());
  return std::max<int64_t>(1, static_cast<int64_t>(sorted[sorted.size() / 2] * kPicoseconds));
}

/// Sums of times by the node's name, to make averages: a graph may have several alike.
struct Sum {
  double ps = 0;
  uint64_t nodes = 0;
};

}  // namespace

void Recorder::begin_run() {
  const std::lock_guard lock(mutex_);
  take_in();
  ++runs_;
}

void Recorder::take_in() {
  const std::vector<runtime::Trace::Event> events = trace_->take();
  if (runs_ == 0 || events.empty()) return;
  const auto runs = static_cast<double>(runs_);
  runs_ = 0;
  int64_t begin = INT64_MAX, end = INT64_MIN;
  std::map<std::string, double> sums;
  for (const runtime::Trace::Event& event : events) {
    begin = std::min(begin, event.begin_ns), end = std::max(end, event.begin_ns + event.duration_ns);
    const bool on_device = event.category == "device";
    if (on_device || event.category == "run")
      sums[on_device ? event.step : event.name] += static_cast<double>(event.duration_ns);
  }
  whole_.push_back(static_cast<double>(end - begin) / runs);
  for (const auto& [step, ns] : sums) by_step_[step].push_back(ns / runs);
}

Status Recorder::store(const Assembly& assembly, uint32_t threads, runtime::BlobCache& cache,
                       const runtime::BlobLimits& limits) {
  const std::lock_guard lock(mutex_);
  take_in();
  if (whole_.empty()) return ok_status();
  const Executable& executable = *assembly.executable;
  const ir::Graph& graph = executable.graph();
  std::map<const runtime::Instance*, std::map<std::string, Sum>> sums;
  for (const CompiledPart& part : executable.parts) {
    const auto at = by_step_.find(part.label);
    if (part.is_control_flow() || at == by_step_.end()) continue;
    const runtime::Roofline roofline =
        runtime::roofline_of(*part.instance, part.claim.input_domain == TENON_DOMAIN_HOST, threads);
    std::vector<double> shares;
    double all = 0;
    for (const ir::NodeId id : part.nodes) {
      const ops::Work work = ops::work_of(graph, graph.node(id));
      shares.push_back(static_cast<double>(roofline.time(work.flops, work.bytes)));
      all += shares.back();
    }
    const auto ps = static_cast<double>(median_ps(at->second));
    for (size_t i = 0; i < part.nodes.size(); ++i) {
      Sum& sum = sums[part.instance.get()][runtime::name_of_work(graph, graph.node(part.nodes[i]))];
      sum.ps += ps * shares[i] / all;
      ++sum.nodes;
    }
  }
  for (const auto& [instance, by_name] : sums) {
    Timetable table;
    for (const auto& [name, sum] : by_name)
      table.set(name, std::max<int64_t>(1, static_cast<int64_t>(sum.ps / static_cast<double>(sum.nodes))));
    RETURN_IF_ERROR(table.store(cache, runtime::key_of_instance(*instance, threads), limits));
  }
  ASSIGN_OR_RETURN(const std::vector<ir::NodeId> order, graph.topological_order());
  const runtime::WayName way{runtime::name_of_instances(assembly.selection.instances),
                             runtime::name_of_graph(graph, order),
                             runtime::assignment_of(executable.partition, order)};
  const std::string name = way.text();
  if (name.empty()) return ok_status();
  Timetable table;
  table.set(name, median_ps(whole_));
  return table.store(cache, runtime::key_of_graph(assembly.name_of_graph, threads), limits);
}

}  // namespace tenon::session
