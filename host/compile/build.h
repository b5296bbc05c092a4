// From a graph to an executable: the providers are asked, nodes that nobody takes are expanded and everything
// is asked again, the accepted claims are compiled, and the same is done for the bodies of control-flow
// nodes.
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

/// What all graphs of a model are built with. Everything is borrowed.
struct BuildContext {
  const ir::ModelInfo* model = nullptr;
  const Selection* selection = nullptr;
  Placement* placement = nullptr;
  /// Loads the providers that `selection` has unopened, and tells `placement`.
  std::function<Status()> open_rest;
  const config::Settings* settings = nullptr;
  std::shared_ptr<const ExecutableContext> context;
  transform::Options transforms;
  int64_t node_limit = 0;
  /// Called before each compile with the nodes compiled so far, and all of this graph; a failure ends the
  /// build.
  std::function<Status(size_t done, size_t all)> progress;
};

/// `name`: of the graph in messages; empty for the model's own.
Result<std::unique_ptr<Executable>> build_executable(const BuildContext& build, ir::Graph graph,
                                                     std::string name, bool is_body);

}  // namespace tenon::runtime
