// Runs constant graphs node by node, for constant folding.
#pragma once

#include <memory>

#include "core/transform/transform.h"
#include "host/device/node_runner.h"

namespace tenon::runtime {

/// Runs graphs without inputs on `runner`. Without a runner the result is empty, and folding is skipped.
transform::Evaluator make_evaluator(std::shared_ptr<const NodeRunner> runner);

}  // namespace tenon::runtime
