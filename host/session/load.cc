#include "host/session/load.h"

#include <cstdio>
#include <unordered_set>

#include "core/ops/ops.h"
#include "core/transform/transform.h"
#include "host/base/log.h"
#include "host/selection/providers.h"
#include "host/services/float_mode.h"
#include "host/session/transforms.h"

namespace tenon::session {

Status LoadTime::begin(const config::Settings& settings, const uint32_t* cancel) {
  constexpr double kNanoseconds = 1e9;
  const float seconds = settings.limits.load_time;
  if (seconds <= 0 && cancel == nullptr) return ok_status();
  stop_.what = "the load";
  if (seconds <= 0) {
    stop_.word = cancel;
    scope_.emplace(&stop_);
    return ok_status();
  }
  const double ns = static_cast<double>(seconds) * kNanoseconds;
  stop_.deadline_ns = steady_after_ns(ns >= 9e18 ? INT64_MAX : static_cast<int64_t>(ns));
  RETURN_IF_ERROR(alarm_.set(stop_.deadline_ns, cancel));
  stop_.word = alarm_.word();
  char text[32];
  std::snprintf(text, sizeof(text), "%g", static_cast<double>(seconds));
  whose_ = str_cat("limits.load_time = ", text, " s");
  stop_.whose = whose_;
  scope_.emplace(&stop_);
  return ok_status();
}

onnx::Limits limits_of(const config::Settings& settings) {
  onnx::Limits limits;
  const auto bounded = [](uint64_t bytes) {
    return bytes == 0 || bytes > uint64_t{1} << 62 ? int64_t{1} << 62 : static_cast<int64_t>(bytes);
  };
  limits.model_bytes = bounded(settings.limits.model_bytes);
  limits.graph_depth = settings.limits.graph_depth;
  limits.nodes = settings.limits.nodes;
  limits.fold_bytes = bounded(settings.limits.fold_bytes);
  limits.map_weights = settings.limits.map_weights;
  limits.external_data = settings.limits.external_data == config::ExternalData::kDeny
                             ? onnx::ExternalData::kDeny
                             : onnx::ExternalData::kBeneathModel;
  return limits;
}

Result<ir::Model> load_model(const ModelSource& source, const config::Settings& settings,
                             const SessionOptions& options) {
  onnx::Limits limits = limits_of(settings);
  onnx::Given given = options.given;
  given.operators = &options.operators;
  limits.given = &given;
  std::vector<std::string> notices;
  limits.notices = &notices;
  const auto bytes = source.keep ? onnx::Bytes::kBorrow : onnx::Bytes::kCopy;
  Result<ir::Model> model = source.data != nullptr
                                ? onnx::load_bytes(source.data, source.size, source.directory, limits, bytes)
                                : onnx::load(source.path, limits);
  for (const std::string& notice : notices) log_line(TENON_LOG_WARNING, "MODEL", notice);
  return model;
}

namespace {

using SeenTensors = std::unordered_set<const ir::Tensor*>;

uint64_t copied_bytes(const ir::TensorPtr& tensor, bool mapped, SeenTensors* seen) {
  const bool in_file = tensor == nullptr || (mapped && !tensor->origin().path.empty());
  return in_file || !seen->insert(tensor.get()).second ? 0 : tensor->byte_size();
}

uint64_t copied_bytes(const ir::Graph& graph, bool mapped, SeenTensors* seen) {
  uint64_t bytes = 0;
  for (ir::ValueId v = 0; v < graph.value_limit(); ++v) {
    if (graph.has_value(v)) bytes += copied_bytes(graph.value(v).constant, mapped, seen);
  }
  for (const ir::Default& fallback : graph.defaults()) bytes += copied_bytes(fallback.value, mapped, seen);
  for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
    if (!graph.has_node(id)) continue;
    for (const ir::Attribute& attribute : graph.node(id).attributes) {
      for (const ir::TensorPtr& tensor : attribute.tensors) bytes += copied_bytes(tensor, mapped, seen);
      for (const ir::GraphBox& nested : attribute.graphs) bytes += copied_bytes(*nested, mapped, seen);
    }
  }
  return bytes;
}

}  // namespace

uint64_t copied_bytes(const ir::Model& model, const config::Settings& settings) {
  SeenTensors seen;
  uint64_t bytes = copied_bytes(model.graph, settings.limits.map_weights, &seen);
  for (const ir::Function& function : model.functions)
    bytes += copied_bytes(function.body, settings.limits.map_weights, &seen);
  return bytes;
}

Status expose_values(ir::Graph* graph) {
  ASSIGN_OR_RETURN(const std::vector<ir::NodeId> order, graph->topological_order());
  for (const ir::NodeId id : order) {
    for (const ir::ValueId output : graph->node(id).outputs) {
      if (output != ir::kNone && graph->value(output).output_count == 0) graph->add_output(output);
    }
  }
  return ok_status();
}

Result<ir::Model> transformed_model(const ModelSource& source, const config::Config& config,
                                    const SessionOptions& options) {
  const runtime::FloatMode mode;
  LoadTime time;
  RETURN_IF_ERROR(time.begin(config.settings()));
  ASSIGN_OR_RETURN(ir::Model model, load_model(source, config.settings(), options));
  ASSIGN_OR_RETURN(const runtime::Selection selection, runtime::select_providers(config, options.registered));
  RETURN_IF_ERROR(transform_model(&model, config.settings(), selection));
  // In a file, a node has the version that the model imports.
  transform::put_back_for_file(model.graph, ops::opset_of(model.opset_imports, ""));
  return model;
}

}  // namespace tenon::session
