// Running constant graphs node by node, for constant folding.
#pragma once

#include <memory>

#include "core/transform/transform.h"
#include "host/device/node_runner.h"

namespace tenon::runtime {

/// Runs graphs without inputs on `runner`; empty when there is none, and folding is then left out.
transform::Evaluator make_evaluator(std::shared_ptr<const NodeRunner> runner);

}  // namespace tenon::runtime
