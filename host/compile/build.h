// From a graph to an executable. Asks the providers what they run, expands the nodes that none takes and asks again,
// then compiles the accepted claims. Builds the bodies of control-flow nodes the same way.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/transform/transform.h"
#include "host/config/config.h"
#include "host/exec/executable.h"
#include "host/selection/placement.h"
#include "host/selection/select.h"

namespace tenon::runtime {

/// The inputs of a build, shared by all graphs of a model. The pointers are borrowed.
struct BuildInputs {
  const ir::ModelInfo* model = nullptr;
  const Selection* selection = nullptr;
  Placement* placement = nullptr;
  /// Loads the unopened providers of `selection`, and extends `placement`.
  std::function<Status()> open_rest;
  const config::Settings* settings = nullptr;
  std::shared_ptr<const SharedState> shared;
  transform::Options transforms;
  int64_t node_limit = 0;
  /// Called before each compile with the nodes compiled so far and all of this graph. A failure ends the build.
  std::function<Status(size_t done, size_t all)> progress;
};

/// `name`: the graph's name in messages; empty for the model's graph. `is_body`: it is nested in a control-flow node.
Result<std::unique_ptr<Executable>> build_executable(const BuildInputs& build, ir::Graph graph,
                                                     std::string name, bool is_body);

}  // namespace tenon::runtime
