// Runs one node, or one program, once on host tensors: for constant folding, for shape arithmetic while
// planning, for tests. Everything is copied to and from the device as needed; nothing of it is fast.
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

/// Runs a compiled claim on values in host memory (an empty reference: missing). `domains`: where the claim
/// wants its inputs and then its outputs; empty: all in host memory. `outputs`: what the host knows of the
/// outputs' types; a shape that is not static is asked of the provider. Control of time and memory is the
/// caller's.
Result<std::vector<ValueRef>> run_program(const std::shared_ptr<const Program>& program,
                                          std::span<const ValueRef> inputs, std::span<const ir::Type> outputs,
                                          std::span<const MemoryDomain* const> domains = {});

/// Thread-safe.
class NodeRunner {
 public:
  /// `opset_imports` are those of the model.
  NodeRunner(std::shared_ptr<Instance> instance, std::map<std::string, int64_t> opset_imports);

  /// The outputs of `node` for constant inputs, one per entry of Node::inputs (null where missing).
  /// UNSUPPORTED when the provider declines the node; a node with nested graphs is declined. Outputs that
  /// nobody wants come back null.
  Result<std::vector<ir::TensorPtr>> run(const ir::Node& node,
                                         const std::vector<ir::TensorPtr>& inputs) const;

  /// The outputs of a graph without inputs, node by node; null for an output that nothing computes. As the
  /// evaluator of core/transform wants it.
  Result<std::vector<ir::TensorPtr>> run_graph(const ir::Graph& graph) const;

  const Instance& instance() const { return *instance_; }

 private:
  std::shared_ptr<Instance> instance_;
  std::map<std::string, int64_t> opset_imports_;
};

}  // namespace tenon::runtime
