// An executable: a graph whose parts are compiled, with the plans made for it so far. The model's graph is an
// executable, and so is every body of a control-flow node.
//
// After building only the caches of plans and uploads, and the list of steps that cannot be recorded change. They are
// thread-safe: any number of threads may run an executable.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/partition/partition.h"
#include "host/device/constant_pool.h"
#include "host/device/node_runner.h"
#include "host/exec/compiled_part.h"
#include "host/exec/islands.h"
#include "host/exec/peers.h"
#include "host/exec/plan.h"
#include "host/exec/set_aside.h"
#include "host/exec/state_pairs.h"
#include "host/exec/uploads.h"
#include "host/services/memory_budget.h"

namespace tenon::runtime {

class FramePool;
class Trace;

/// What all executables of one session share.
struct SharedState {
  std::map<std::string, int64_t> opset_imports;
  std::shared_ptr<ConstantPool> constants;
  std::shared_ptr<NodeRunner> evaluator;  // null: planning computes no values except shapes
  size_t keep_plans = 16;
  uint64_t keep_bytes = uint64_t{256} << 20;
  std::shared_ptr<MemoryBudget> memory;  // host memory of the session; null only outside a session
  uint64_t device_limit = 0;             // bytes; 0: none
  std::shared_ptr<Trace> trace;          // the session's; may be null
  std::shared_ptr<SetAside> set_aside = std::make_shared<SetAside>();  // frames of Runs that were given up
};

class Executable {
 public:
  Executable(ir::Graph graph, std::shared_ptr<const SharedState> shared);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  std::string name;                 // "" for the model's graph, else "node 'loop' (Loop), body"
  std::vector<CompiledPart> parts;  // in topological order; filled by the builder
  partition::Partition partition;
  std::vector<StatePair> state_pairs;  // of the model's graph; filled when the parts are

  const ir::Graph& graph() const { return graph_; }
  const SharedState& shared() const { return *shared_; }
  /// The graph's inputs, then the captures of a body that are not constants.
  const std::vector<ir::ValueId>& inputs() const { return inputs_; }
  const std::vector<ir::ValueId>& outputs() const { return graph_.outputs(); }
  /// The outer values of the captures among the inputs, in order.
  const std::vector<ir::ValueId>& captured() const { return captured_; }
  /// True when a state has the memory of the input or output.
  bool is_state_input(uint32_t index) const;
  bool is_state_output(uint32_t index) const;
  FramePool& frames() const { return *frames_; }
  Uploads& uploads() const { return uploads_; }
  UnrecordedSteps& unrecorded() const { return unrecorded_; }
  RefusedPeers& refused_peers() const { return refused_peers_; }

 private:
  ir::Graph graph_;
  std::shared_ptr<const SharedState> shared_;
  std::vector<ir::ValueId> inputs_, captured_;
  mutable Uploads uploads_;
  mutable UnrecordedSteps unrecorded_;
  mutable RefusedPeers refused_peers_;
  std::unique_ptr<FramePool> frames_;
};

}  // namespace tenon::runtime
