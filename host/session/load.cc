#include "host/session/load.h"

#include <cstdio>
#include <unordered_set>

#include "host/config/text.h"
#include "host/runtime/float_mode.h"
#include "host/runtime/host_api.h"
#include "host/runtime/pins.h"
#include "host/session/evaluator.h"

namespace tenon::session {

Status LoadTime::begin(const config::Settings& settings) {
  constexpr double kNanoseconds = 1e9;
  const float seconds = settings.limits.load_time;
  if (seconds <= 0) return ok_status();
  const double ns = static_cast<double>(seconds) * kNanoseconds;
  stop_.deadline_ns = steady_after_ns(ns >= 9e18 ? INT64_MAX : static_cast<int64_t>(ns));
  RETURN_IF_ERROR(alarm_.set(stop_.deadline_ns, nullptr));
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

Result<ir::Model> load_model(const ModelSource& source, const config::Settings& settings) {
  onnx::Limits limits = limits_of(settings);
  std::vector<std::string> notices;
  limits.notices = &notices;
  const auto bytes = source.keep ? onnx::Bytes::kBorrow : onnx::Bytes::kCopy;
  Result<ir::Model> model = source.data != nullptr
                                ? onnx::load_bytes(source.data, source.size, source.directory, limits, bytes)
                                : onnx::load(source.path, limits);
  for (const std::string& notice : notices) runtime::log_line(TENON_LOG_WARNING, "MODEL", notice);
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

Result<transform::Options> transforms_of(const config::Settings& settings, transform::Evaluator evaluator) {
  transform::Options options;
  options.evaluator = std::move(evaluator);
  options.fold_bytes = limits_of(settings).fold_bytes;
  std::vector<std::string> names;
  for (const transform::Transform& each : transform::transforms()) names.push_back(each.name);
  for (const std::string& pattern : settings.transforms.disable) {
    bool found = false;
    for (const std::string& name : names) {
      if (!config::glob_match(pattern, name)) continue;
      options.enabled[name] = false;
      found = true;
    }
    if (!found) {
      return config_error("transforms.disable names '", pattern, "', and there is no such transform",
                          config::suggestion(pattern, names));
    }
  }
  return options;
}

namespace {

/// What one has installed and wants, and does not get, is a warning; that some wait to be named is how it is documented.
uint32_t level_of(const provider::PassedOver& each) {
  const bool waits = each.code == provider::skip_name(provider::Skip::kEmulated) ||
                     each.code == provider::skip_name(provider::Skip::kByName);
  return waits ? TENON_LOG_INFO : TENON_LOG_WARNING;
}

void log_passed_over(const provider::PassedOver& each) {
  runtime::log_line(level_of(each), "PASSED_OVER", each.text());
}

/// Which manifests were found, which of them are taken, and why; and what is passed over.
void log_choices(provider::ProviderRegistry& registry, const Result<runtime::Selection>& selection) {
  if (!runtime::has_log_sink()) return;
  for (const std::string& notice : registry.notices()) runtime::log_line(TENON_LOG_WARNING, "SEARCH", notice);
  if (selection.ok()) {
    for (const provider::PassedOver& each : selection->passed_over) log_passed_over(each);
  }
  for (const provider::ProviderInfo& info : registry.list())
    runtime::log_line(TENON_LOG_INFO, "PROVIDER", info.explain());
}

}  // namespace

provider::RegistryOptions registry_options(const config::Config& config, const SessionOptions& options) {
  provider::RegistryOptions out = provider::RegistryOptions::from_config(config, runtime::host_api());
  for (const std::string& path : options.registered) out.registered.push_back(path);
  return out;
}

provider::ProviderRegistry::Known known_providers(const config::Config& config,
                                                  provider::ProviderRegistry& registry) {
  provider::ProviderRegistry::Known known = registry.known();
  if (config->upgrade != config::UpgradeMode::kPin) return known;
  for (config::KnownProvider& each : known.providers) {
    const auto pinned = runtime::Pins::process().find(each.id, config.provider(each.id).version);
    if (pinned != nullptr) each.options = pinned->manifest().options;
  }
  return known;
}

Result<runtime::Selection> select_providers(const config::Config& config, const SessionOptions& options) {
  provider::ProviderRegistry registry(registry_options(config, options));
  const provider::ProviderRegistry::Known known = known_providers(config, registry);
  RETURN_IF_ERROR(config.check_providers(known.providers));
  Result<runtime::Selection> selection = runtime::select_instances(config, registry);
  log_choices(registry, selection);
  return selection;
}

Status open_rest(const config::Config& config, const std::vector<std::string>& registered,
                 runtime::Selection* selection) {
  SessionOptions options;
  options.registered = registered;
  provider::ProviderRegistry registry(registry_options(config, options));
  const size_t known = selection->passed_over.size();
  RETURN_IF_ERROR(runtime::open_rest(config, registry, selection));
  for (size_t i = known; i < selection->passed_over.size(); ++i) log_passed_over(selection->passed_over[i]);
  return ok_status();
}

Status transform_model(ir::Model* model, const config::Settings& settings,
                       const runtime::Selection& selection) {
  std::shared_ptr<runtime::NodeRunner> runner;
  if (const std::shared_ptr<runtime::Instance> completing = selection.completing()) {
    runner = std::make_shared<runtime::NodeRunner>(completing, model->opset_imports);
  }
  ASSIGN_OR_RETURN(const transform::Options transforms,
                   transforms_of(settings, make_evaluator(std::move(runner))));
  return transform::run_pipeline(model->graph, *model, transforms).status();
}

Result<ir::Model> transformed_model(const ModelSource& source, const config::Config& config,
                                    const SessionOptions& options) {
  const runtime::FloatMode mode;
  LoadTime time;
  RETURN_IF_ERROR(time.begin(config.settings()));
  ASSIGN_OR_RETURN(ir::Model model, load_model(source, config.settings()));
  ASSIGN_OR_RETURN(const runtime::Selection selection, select_providers(config, options));
  RETURN_IF_ERROR(transform_model(&model, config.settings(), selection));
  return model;
}

}  // namespace tenon::session
