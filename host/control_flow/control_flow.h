// If, Loop, Scan, SequenceMap, BeamSearch, GreedySearch: nodes that run nested graphs. Their values are in host memory.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "host/exec/frame.h"
#include "host/exec/run_executable.h"

namespace tenon::runtime {

class ControlFlow {
 public:
  ControlFlow(Frame& frame, const PlanStep& step) : frame_(frame), step_(step), part_(*step.part) {}

  const ir::Node& node() const { return frame_.executable().graph().node(part_.nodes[0]); }
  size_t input_count() const { return node().inputs.size(); }
  bool has_input(size_t i) const { return i < input_count() && step_.inputs[i] != kNoSlot; }
  /// Input `i` of the node; only when has_input(i).
  const tenon_tensor& input(size_t i) const { return frame_.slot(step_.inputs[i]).tensor; }
  Argument argument(size_t i) const { return slot_argument(step_.inputs[i]); }
  size_t output_count() const { return step_.outputs.size(); }
  bool wants_output(size_t i) const { return i < output_count() && step_.outputs[i] != kNoSlot; }
  /// Sets output `i`. Does nothing when the output is not used.
  void set_output(size_t i, ValueRef value);

  /// The nested graph of an attribute. INVALID_MODEL when it is missing.
  Result<const Body*> body(std::string_view attribute) const;
  /// Runs a nested graph. `arguments`: its formal inputs; its captures are added here.
  Status run(const Body& body, std::vector<Argument> arguments, std::vector<ValueRef>* outputs);
  /// CANCELLED or DEADLINE_EXCEEDED.
  Status check() const { return frame_.state().control.check(); }

 private:
  Argument slot_argument(SlotIndex slot) const;

  Frame& frame_;
  const PlanStep& step_;
  const CompiledPart& part_;
};

/// A value that outlives the argument: shared when the argument has an owner, else copied.
Result<ValueRef> to_value(const Argument& argument);
/// The only element of a bool tensor. `what` names it in errors.
Result<bool> to_bool(const tenon_tensor& tensor, std::string_view what);

/// Runs the step's node. Has the signature of a provider's run function.
tenon_status run_control_flow(const tenon_run_args* args, tenon_error* error);

Status run_if(ControlFlow& flow);
Status run_loop(ControlFlow& flow);
Status run_scan(ControlFlow& flow);
Status run_sequence_map(ControlFlow& flow);
Status run_beam_search(ControlFlow& flow);
Status run_greedy_search(ControlFlow& flow);

}  // namespace tenon::runtime
