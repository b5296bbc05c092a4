#include "host/exec/state_pairs.h"

#include <algorithm>

#include "host/exec/executable.h"
#include "host/exec/schedule.h"

namespace tenon::runtime {
namespace {

/// The step and the position that write `slot`; false when no provider's step does, or it is dynamic.
bool find_writer(const Plan& plan, SlotIndex slot, uint32_t* out_step, size_t* out_position) {
  for (uint32_t s = 0; s < plan.steps.size(); ++s) {
    const std::vector<SlotIndex>& outputs = plan.steps[s].outputs;
    const auto at = std::find(outputs.begin(), outputs.end(), slot);
    if (at == outputs.end()) continue;
    *out_step = s;
    *out_position = static_cast<size_t>(at - outputs.begin());
    return plan.steps[s].kind == StepKind::kRun;
  }
  return false;
}

bool updates_in_place(const Plan& plan, const std::vector<uint32_t>& finished, SlotIndex in, SlotIndex out) {
  const Slot &from = plan.slots[in], &to = plan.slots[out];
  if (from.kind != SlotKind::kInput || to.kind != SlotKind::kOutput || from.domain != to.domain ||
      from.bytes != to.bytes) {
    return false;
  }
  uint32_t writer = 0;
  size_t position = 0;
  if (!find_writer(plan, out, &writer, &position)) return false;
  const PlanStep& step = plan.steps[writer];
  const auto& alias = step.prepared->outputs()[position].alias;
  if (alias.kind != TENON_ALIAS_MAY_OVERWRITE || step.inputs[alias.input] != in) return false;
  if (std::count(step.inputs.begin(), step.inputs.end(), in) != 1) return false;

  const auto is_of_input = [&](SlotIndex s) { return s != kNoSlot && plan.slots[s].root == in; };
  if (std::any_of(plan.outputs.begin(), plan.outputs.end(), is_of_input)) return false;
  for (uint32_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& reader = plan.steps[s];
    if (s == writer ? std::count_if(reader.inputs.begin(), reader.inputs.end(), is_of_input) == 1
                    : std::none_of(reader.inputs.begin(), reader.inputs.end(), is_of_input)) {
      continue;
    }
    if (s >= writer) return false;
    const bool in_order = reader.stream == plan::kNone || reader.stream == step.stream;
    if (!in_order && (finished[s] == plan::kNone || finished[s] > writer)) return false;
  }
  return true;
}

}  // namespace

const MemoryDomain* device_domain_of_input(const Executable& executable, uint32_t input,
                                           bool* is_read_by_host) {
  if (is_read_by_host != nullptr) *is_read_by_host = false;
  for (const CompiledPart& part : executable.parts) {
    for (size_t i = 0; i < part.inputs.size(); ++i) {
      if (part.inputs[i] != executable.inputs()[input]) continue;
      const bool on_host = part.is_control_flow() || part.shape_inputs[i] || part.input_domains[i]->is_host();
      if (!on_host) return part.input_domains[i];
      if (is_read_by_host != nullptr) *is_read_by_host = true;
    }
  }
  return nullptr;
}

const MemoryDomain* domain_of_pair(const Executable& executable, const StatePair& pair) {
  const ir::ValueId output = executable.outputs()[pair.output];
  bool is_read = false;
  const MemoryDomain* read_in = device_domain_of_input(executable, pair.input, &is_read);
  if (read_in != nullptr) return read_in;
  const MemoryDomain* made_in = &host_domain();
  for (const CompiledPart& part : executable.parts) {
    for (size_t o = 0; o < part.outputs.size(); ++o) {
      if (part.outputs[o] == output && !part.is_control_flow()) made_in = part.output_domains[o];
    }
  }
  return is_read ? &host_domain() : made_in;
}

std::vector<bool> find_updates_in_place(const Executable& executable, const Plan& plan) {
  std::vector<bool> out;
  if (executable.state_pairs.empty()) return out;
  const std::vector<uint32_t> finished = finished_at(plan);
  for (const StatePair& pair : executable.state_pairs)
    out.push_back(updates_in_place(plan, finished, plan.inputs[pair.input], plan.outputs[pair.output]));
  return out;
}

}  // namespace tenon::runtime
