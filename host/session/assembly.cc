#include "host/session/assembly.h"

#include <algorithm>
#include <utility>

#include "host/base/log.h"
#include "host/compile/build.h"
#include "host/compile/times_keys.h"
#include "host/device/evaluator.h"
#include "host/selection/placement.h"
#include "host/selection/providers.h"
#include "host/session/load.h"
#include "host/session/transforms.h"

namespace tenon::session {
namespace {

std::shared_ptr<runtime::SharedState> make_shared_state(const ir::ModelInfo& model,
                                                        const config::Settings& settings,
                                                        const runtime::Selection& selection) {
  auto shared = std::make_shared<runtime::SharedState>();
  shared->opset_imports = model.opset_imports;
  shared->constants = std::make_shared<runtime::ConstantPool>(settings.limits.map_weights);
  if (const std::shared_ptr<runtime::Instance> completing = selection.completing()) {
    shared->evaluator = std::make_shared<runtime::NodeRunner>(completing, model.opset_imports);
  }
  shared->keep_plans = static_cast<size_t>(std::max<int64_t>(settings.shapes.keep, 1));
  shared->device_limit = settings.memory.device_limit;
  return shared;
}

}  // namespace

Assembler::Assembler(const ir::ModelInfo& model, ir::Graph graph, config::Config config, std::string name,
                     std::shared_ptr<runtime::MemoryBudget> memory, std::shared_ptr<runtime::Trace> trace,
                     std::shared_ptr<runtime::SetAside> set_aside, std::vector<std::string> registered,
                     std::vector<runtime::StatePair> pairs)
    : model_(model),
      graph_(std::move(graph)),
      config_(std::move(config)),
      name_(std::move(name)),
      memory_(std::move(memory)),
      trace_(std::move(trace)),
      set_aside_(std::move(set_aside)),
      registered_(std::move(registered)),
      pairs_(std::move(pairs)) {}

Result<std::shared_ptr<const Assembly>> Assembler::make(runtime::Selection selection,
                                                        std::vector<Fallback> fallbacks,
                                                        const Progress& progress) const {
  const config::Settings& settings = config_.settings();
  auto out = std::make_shared<Assembly>();
  out->selection = std::move(selection);
  out->fallbacks = std::move(fallbacks);
  runtime::Placement placement(config_, out->selection, name_);
  const auto shared = make_shared_state(model_, settings, out->selection);
  shared->memory = memory_;
  shared->trace = trace_;
  shared->set_aside = set_aside_;
  const runtime::TraceSpan span(trace_.get(), "partition and compile", "load");
  runtime::BuildInputs build;
  ASSIGN_OR_RETURN(build.transforms, transforms_of(settings, runtime::make_evaluator(shared->evaluator)));
  build.model = &model_;
  build.selection = &out->selection;
  build.placement = &placement;
  build.open_rest = [&] {
    RETURN_IF_ERROR(runtime::open_rest(config_, registered_, &out->selection));
    placement.extend(out->selection);
    return ok_status();
  };
  build.settings = &settings;
  if (settings.select.record_times) {
    ASSIGN_OR_RETURN(const std::vector<ir::NodeId> order, graph_.topological_order());
    out->name_of_graph = runtime::name_of_graph(graph_, order);
  }
  build.shared = shared;
  build.node_limit = limits_of(settings).nodes;
  if (progress) {
    build.progress = [&](size_t done, size_t all) {
      const double share = static_cast<double>(done) / static_cast<double>(std::max<size_t>(all, 1));
      return progress(0.4 + 0.5 * share, "compile");
    };
  }
  ASSIGN_OR_RETURN(out->executable, runtime::build_executable(build, graph_, "", false));
  out->executable->state_pairs = pairs_;
  for (runtime::StatePair& pair : out->executable->state_pairs)
    pair.domain = runtime::domain_of_pair(*out->executable, pair);
  out->warnings = placement.warnings();
  if (out->fallbacks.empty()) {  // a later assembly of the session would log them again
    for (const std::string& text : out->warnings) log_line(TENON_LOG_WARNING, "PLACEMENT", text);
  }
  return std::shared_ptr<const Assembly>(std::move(out));
}

}  // namespace tenon::session
