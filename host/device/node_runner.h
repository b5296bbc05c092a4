// Runs one node or one program once on host tensors: for constant folding, for shape arithmetic during planning,
// for tests. Copies everything to and from the device. Not optimised for speed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "host/device/instance.h"
#include "host/device/program.h"
#include "host/device/value.h"

namespace tenon::runtime {

/// Runs a compiled claim on values in host memory; an empty reference is a missing input. `domains`: the claim's
/// domains for its inputs, then its outputs; empty means host memory. `outputs`: the known types of the outputs;
/// the provider is asked for shapes that are not static. The caller limits time and memory.
Result<std::vector<ValueRef>> run_program(const std::shared_ptr<const Program>& program,
                                          std::span<const ValueRef> inputs, std::span<const ir::Type> outputs,
                                          std::span<const MemoryDomain* const> domains = {});

/// Thread-safe.
class NodeRunner {
 public:
  /// `opset_imports`: those of the model.
  NodeRunner(std::shared_ptr<Instance> instance, std::map<std::string, int64_t> opset_imports);

  /// The outputs of `node` for constant inputs, one per entry of Node::inputs (null if missing). Outputs that the
  /// node omits are null. UNSUPPORTED when the provider declines the node or the node has nested graphs.
  Result<std::vector<ir::TensorPtr>> run(const ir::Node& node,
                                         const std::vector<ir::TensorPtr>& inputs) const;

  const Instance& instance() const { return *instance_; }

 private:
  std::shared_ptr<Instance> instance_;
  std::map<std::string, int64_t> opset_imports_;
};

}  // namespace tenon::runtime
