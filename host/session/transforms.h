// The transforms of a graph that a config leaves on.
#pragma once

#include "core/base/result.h"
#include "core/transform/transform.h"
#include "host/config/config.h"
#include "host/selection/select.h"

namespace tenon::session {

/// NOT_FOUND as a config error when `transforms.disable` names nothing there is.
Result<transform::Options> transforms_of(const config::Settings& settings, transform::Evaluator evaluator);
/// Runs the pipeline, with constants folded by the completing provider of the selection.
Status transform_model(ir::Model* model, const config::Settings& settings,
                       const runtime::Selection& selection);

}  // namespace tenon::session
