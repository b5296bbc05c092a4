// Reading a model under the limits of a config, and the transforms that a config leaves on.
#pragma once

#include <optional>

#include "core/base/result.h"
#include "core/base/stop.h"
#include "core/onnx/onnx.h"
#include "core/transform/transform.h"
#include "host/config/config.h"
#include "host/provider/registry.h"
#include "host/runtime/alarm.h"
#include "host/session/session.h"

namespace tenon::session {

/// The time that limits.load_time gives to what this thread loads while it lives.
class LoadTime {
 public:
  Status begin(const config::Settings& settings);

 private:
  std::string whose_;
  runtime::Alarm alarm_;
  Stop stop_;
  std::optional<StopScope> scope_;
};

onnx::Limits limits_of(const config::Settings& settings);
Result<ir::Model> load_model(const ModelSource& source, const config::Settings& settings);
/// Bytes of the model's constants that lie in memory of this process rather than in the mapped file.
uint64_t copied_bytes(const ir::Model& model, const config::Settings& settings);
/// Makes outputs of all values that nodes of the graph make, in topological order behind its own.
Status expose_values(ir::Graph* graph);
/// NOT_FOUND as a config error when `transforms.disable` names nothing there is.
Result<transform::Options> transforms_of(const config::Settings& settings, transform::Evaluator evaluator);

/// The manifests that a config and the application make known.
provider::RegistryOptions registry_options(const config::Config& config, const SessionOptions& options);
/// What config.check_providers needs; of a provider that is pinned, what the build that runs says.
provider::ProviderRegistry::Known known_providers(const config::Config& config,
                                                  provider::ProviderRegistry& registry);
/// The providers that a config chooses, in order.
Result<runtime::Selection> select_providers(const config::Config& config, const SessionOptions& options);
/// Loads those that the selection has unopened. What it passes over is logged.
Status open_rest(const config::Config& config, const std::vector<std::string>& registered,
                 runtime::Selection* selection);
/// Runs the pipeline, with constants folded by the completing provider of the selection.
Status transform_model(ir::Model* model, const config::Settings& settings,
                       const runtime::Selection& selection);
/// The model after the pipeline, with constants folded by the completing provider.
Result<ir::Model> transformed_model(const ModelSource& source, const config::Config& config,
                                    const SessionOptions& options);

}  // namespace tenon::session
