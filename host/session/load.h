// Reading a model under the limits of a config, and the transforms that a config leaves on.
#pragma once

#include <optional>

#include "core/base/result.h"
#include "core/base/stop.h"
#include "core/onnx/onnx.h"
#include "host/config/config.h"
#include "host/services/alarm.h"
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

/// The model after the pipeline, with constants folded by the completing provider.
Result<ir::Model> transformed_model(const ModelSource& source, const config::Config& config,
                                    const SessionOptions& options);

}  // namespace tenon::session
