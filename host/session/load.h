// Reads a model under the limits of a config.
#pragma once

#include <optional>

#include "core/base/result.h"
#include "core/base/stop.h"
#include "core/onnx/onnx.h"
#include "host/config/config.h"
#include "host/services/alarm.h"
#include "host/session/session.h"

namespace tenon::session {

/// Limits the time of a load on this thread to limits.load_time, as long as the object lives.
class LoadTime {
 public:
  /// `cancel`: not zero stops the load as well; read atomically; may be null.
  Status begin(const config::Settings& settings, const uint32_t* cancel = nullptr);

 private:
  std::string whose_;
  runtime::Alarm alarm_;
  Stop stop_;
  std::optional<StopScope> scope_;
};

onnx::Limits limits_of(const config::Settings& settings);
Result<ir::Model> load_model(const ModelSource& source, const config::Settings& settings,
                             const SessionOptions& options = {});
/// Bytes of the model's constants that are not in a mapped file.
uint64_t copied_bytes(const ir::Model& model, const config::Settings& settings);
/// Makes every value that a node produces an output of the graph, in topological order after the graph's own outputs.
Status expose_values(ir::Graph* graph);

/// Loads the model and transforms it. The provider that completes models folds its constants.
Result<ir::Model> transformed_model(const ModelSource& source, const config::Config& config,
                                    const SessionOptions& options);

}  // namespace tenon::session
