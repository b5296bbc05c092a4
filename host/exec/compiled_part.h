// A part of a graph, ready to be planned: a compiled claim, or a control-flow node with its bodies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/partition/partition.h"
#include "host/device/device.h"
#include "host/device/instance.h"
#include "host/device/program.h"

namespace tenon::runtime {

class Executable;

/// A nested graph of a control-flow node.
struct Body {
  std::string attribute;  // "then_branch", "body"
  std::unique_ptr<Executable> executable;
  /// Per capture of the body: the input of the part that holds it.
  std::vector<uint32_t> captures;
};

/// Immutable once the executable is built.
struct CompiledPart {
  std::string label;              // "node 'conv1' (Conv)"
  std::vector<ir::NodeId> nodes;  // in topological order
  /// In the order of the run call. For a control-flow node: the node's inputs by position (kNone where missing,
  /// constants included), then the captures of its bodies; outputs by position.
  std::vector<ir::ValueId> inputs, outputs;
  std::vector<bool> shape_inputs;                                  // per input: read by Prepare
  std::vector<const MemoryDomain*> input_domains, output_domains;  // never null

  std::shared_ptr<Instance> instance;  // null for control flow
  partition::ProviderIndex provider = partition::kNoProvider;
  std::shared_ptr<const Program> program;  // null for control flow, and for claims with static shapes
  partition::Claim claim;
  std::vector<Body> bodies;
  /// Runs a control-flow node, with the signature of a provider's run function. Null for other parts.
  tenon_status (*run_control_flow)(const tenon_run_args* args, tenon_error* error) = nullptr;

  bool is_control_flow() const { return instance == nullptr; }
  /// True when the provider's run call may return before the work is done.
  bool is_asynchronous() const { return instance != nullptr && instance->has_streams(); }
};

}  // namespace tenon::runtime
