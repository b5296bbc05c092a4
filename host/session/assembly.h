// What a session runs on: the chosen instances, and the programs that they compiled from its model. An assembly is
// immutable. It is replaced as a whole when an instance fails and the config says how to go on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/transform/transform.h"
#include "host/config/config.h"
#include "host/exec/executable.h"
#include "host/selection/select.h"
#include "host/services/trace.h"

namespace tenon::session {

/// A failure of an instance after which the session went on, because the config allowed it.
struct Fallback {
  std::string point;     // "run_failed" or "device_lost"
  std::string provider;  // id of the instance
  std::string policy;    // the key and its value: provider.cuda.on_lost = "next"
  std::string text;      // what happened
};

struct Assembly {
  runtime::Selection selection;
  std::unique_ptr<runtime::Executable> executable;
  std::vector<Fallback> fallbacks;    // in order of time
  std::vector<std::string> warnings;  // settings without effect
  std::string name_of_graph;  // of the model's graph before it was divided; empty without select.record_times
};

/// Makes the assemblies of one model. Thread-safe.
class Assembler {
 public:
  using Progress = std::function<Status(double fraction, std::string_view stage)>;

  /// `model` is borrowed; `graph` is its transformed graph. `name`: the model's name, for placement rules. `memory`
  /// counts the session's host memory; `trace` may be null; `set_aside` gets the frames of Runs that are given up.
  /// `registered`: manifests that the application registered. `pairs`: the state pairs, without domains.
  Assembler(const ir::ModelInfo& model, ir::Graph graph, config::Config config, std::string name,
            std::shared_ptr<runtime::MemoryBudget> memory, std::shared_ptr<runtime::Trace> trace,
            std::shared_ptr<runtime::SetAside> set_aside, std::vector<std::string> registered,
            std::vector<runtime::StatePair> pairs);

  const config::Config& config() const { return config_; }
  /// Partitions and compiles the model for `selection`. `progress` may be empty.
  Result<std::shared_ptr<const Assembly>> make(runtime::Selection selection, std::vector<Fallback> fallbacks,
                                               const Progress& progress) const;

 private:
  const ir::ModelInfo& model_;
  ir::Graph graph_;  // its tensors are shared with every assembly
  config::Config config_;
  std::string name_;
  std::shared_ptr<runtime::MemoryBudget> memory_;
  std::shared_ptr<runtime::Trace> trace_;
  std::shared_ptr<runtime::SetAside> set_aside_;
  std::vector<std::string> registered_;
  std::vector<runtime::StatePair> pairs_;
};

}  // namespace tenon::session
