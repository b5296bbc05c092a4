#include "host/control_flow/control_flow.h"

#include <algorithm>

#include "host/exec/steps.h"

namespace tenon::runtime {
namespace {

struct Runner {
  std::string_view op;
  Status (*run)(ControlFlow&);
};
constexpr Runner kRunners[] = {{"If", run_if},
                               {"Loop", run_loop},
                               {"Scan", run_scan},
                               {"SequenceMap", run_sequence_map},
                               {"BeamSearch", run_beam_search},
                               {"GreedySearch", run_greedy_search}};

}  // namespace

Argument ControlFlow::slot_argument(SlotIndex s) const {
  const FrameSlot& slot = frame_.slot(s);
  Argument argument(slot.tensor);
  if (slot.tensor.kind != TENON_KIND_TENSOR) {
    argument.owner = slot.value ? slot.value : ValueRef::share(slot.tensor.object);
  } else if (slot.is_whole_value()) {
    argument.owner = slot.value;
  }
  return argument;
}

void ControlFlow::set_output(size_t i, ValueRef value) {
  if (i < step_.outputs.size() && step_.outputs[i] != kNoSlot)
    frame_.hold(step_.outputs[i], std::move(value));
}

Result<const Body*> ControlFlow::body(std::string_view attribute) const {
  for (const Body& body : part_.bodies) {
    if (body.attribute == attribute) return &body;
  }
  return invalid_model("attribute '", attribute, "' is missing");
}

Status ControlFlow::run(const Body& body, std::vector<Argument> arguments, std::vector<ValueRef>* outputs) {
  for (uint32_t capture : body.captures) arguments.push_back(slot_argument(step_.inputs[capture]));
  if (arguments.size() != body.executable->inputs().size()) {
    return invalid_model("'", body.attribute, "' takes ",
                         body.executable->inputs().size() - body.captures.size(), " inputs, but ",
                         arguments.size() - body.captures.size(), " are given");
  }
  outputs->clear();
  outputs->resize(body.executable->outputs().size());
  return run_executable(*body.executable, frame_.state(), arguments, *outputs);
}

Result<ValueRef> to_value(const Argument& argument) {
  if (argument.owner) return argument.owner;
  if (argument.tensor.kind == TENON_KIND_TENSOR) return copy_tensor(argument.tensor);
  return ValueRef::share(argument.tensor.object);
}

Result<bool> to_bool(const tenon_tensor& tensor, std::string_view what) {
  if (tensor.kind != TENON_KIND_TENSOR || tensor.dtype != TENON_BOOL || tensor.byte_size != 1) {
    return invalid_model(what, " is not a single bool");
  }
  return *static_cast<const uint8_t*>(tensor.data) != 0;
}

Status run_if(ControlFlow& flow) {
  ASSIGN_OR_RETURN(const bool taken, to_bool(flow.input(0), "the condition"));
  ASSIGN_OR_RETURN(const Body* body, flow.body(taken ? "then_branch" : "else_branch"));
  std::vector<ValueRef> outputs;
  RETURN_IF_ERROR(flow.run(*body, {}, &outputs));
  for (size_t i = 0; i < outputs.size(); ++i) flow.set_output(i, std::move(outputs[i]));
  return ok_status();
}

tenon_status run_control_flow(const tenon_run_args* args, tenon_error*) {
  const auto& own = *static_cast<const StepArgs*>(args);
  const PlanStep& step = own.frame->step(own.index);
  ControlFlow flow(*own.frame, step);
  const auto runner = std::find_if(std::begin(kRunners), std::end(kRunners),
                                   [&](const Runner& r) { return r.op == flow.node().op_type; });
  Status status =
      runner == std::end(kRunners) ? internal_error("no runner for this operator") : runner->run(flow);
  if (!status.ok()) return own.frame->fail(std::move(status).with_context(step.part->label));
  own.frame->release(step.releases);
  return TENON_OK;
}

}  // namespace tenon::runtime
