// Runs the graph transforms that a config does not disable.
#pragma once

#include "core/base/result.h"
#include "core/transform/transform.h"
#include "host/config/config.h"
#include "host/selection/select.h"

namespace tenon::session {

/// A config error when a pattern of `transforms.disable` matches no transform.
Result<transform::Options> transforms_of(const config::Settings& settings, transform::Evaluator evaluator);
/// Transforms the model. The selection's provider that completes models folds its constants.
Status transform_model(ir::Model* model, const config::Settings& settings,
                       const runtime::Selection& selection);

}  // namespace tenon::session
