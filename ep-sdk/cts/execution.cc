#include "ep-sdk/cts/execution.h"

#include <algorithm>
#include <utility>

#include "ep-sdk/cts/process_state.h"
#include "tenon/ep/trace.hpp"

namespace tenon::cts {

/// A tensor and everything that its descriptor points to.
struct Execution::Held {
  Block block;
  Dims dims;
  std::vector<int64_t> offsets;
  std::vector<uint8_t> before;  // an input's bytes before the Run
  tenon_value* object = nullptr;
  bool shares = false;  // an input and an output share this memory

  ~Held() {
    if (object != nullptr) release_value(object);
  }
};

Execution::Execution(const Prepared& prepared, const RunSetup& setup)
    : prepared(prepared),
      subject_(prepared.program.subject),
      setup_(setup),
      run_(std::make_unique<tenon_run>()) {
  for (const uint32_t value : prepared.program.inputs()) add_input(value);
  for (size_t i = 0; i < prepared.program.outputs().size(); ++i) add_output(i);
  add_workspace();
  for (size_t i = 0; i < raw_inputs_.size(); ++i) {
    GuardedMemory* memory = inputs_[i]->block.host_memory();
    if (setup.seal_inputs && memory != nullptr && !inputs_[i]->shares) memory->protect(Access::kRead);
  }
  run_->inputs = raw_inputs_;
  run_->place_output = [this](uint32_t index, tenon_tensor* out) { return place_output(index, out); };
  bind();
}

Execution::~Execution() {
  try {
    unbind();
  } catch (const std::exception& e) {
    host_state().violate(8, e.what());
  }
}

void Execution::unbind() { cts::destroy("unbind", subject_.api.unbind, binding_); }

void Execution::add_input(uint32_t value) {
  const Program& program = prepared.program;
  const Tensor& tensor = program.graph.values[value].tensor;
  auto held = std::make_unique<Held>();
  held->dims = tensor.dims;
  std::string characters;
  tenon_tensor raw = describe(tensor, held->offsets, characters);
  raw.dims = held->dims.data();
  if (setup_.first_input != nullptr && raw_inputs_.empty()) {
    raw = *setup_.first_input;
    held->shares = true;
  } else if (tensor.kind == TENON_KIND_TENSOR) {
    const auto* bytes = static_cast<const uint8_t*>(raw.data);
    held->before.assign(bytes, bytes + raw.byte_size);
    held->block = Block(subject_, program.claim.domain_of(value, false), raw.byte_size, setup_.fill);
    held->block.write(held->before.data());
    held->block.place(&raw);
  } else {
    held->object = make_value(tensor);
    raw.data = nullptr;
    raw.object = held->object;
  }
  raw_inputs_.push_back(raw);
  inputs_.push_back(std::move(held));
}

void Execution::add_output(size_t index) {
  const uint32_t value = prepared.program.outputs()[index];
  const Tensor& wanted = prepared.program.graph.values[value].tensor;
  tenon_run::Output& output = run_->outputs.emplace_back();
  output.tensor.kind = wanted.kind;
  output.tensor.dtype = wanted.dtype;
  output.at_run = prepared.at_run[index] || wanted.kind != TENON_KIND_TENSOR || wanted.dtype == TENON_STRING;
  auto held = std::make_unique<Held>();
  tenon_tensor raw{};
  raw.kind = wanted.kind;
  raw.dtype = wanted.dtype;
  raw.domain = prepared.program.claim.domain_of(value, true);
  if (wanted.kind == TENON_KIND_TENSOR && !prepared.at_run[index]) {
    held->dims = prepared.shapes[index];
    raw.rank = static_cast<uint32_t>(held->dims.size());
    raw.dims = held->dims.data();
    output.tensor.dims = held->dims;
  }
  raw_outputs_.push_back(raw);
  outputs_.push_back(std::move(held));
  if (output.at_run) return;
  raw_outputs_[index].byte_size = ep::dtype_bytes(wanted.dtype, static_cast<uint64_t>(output.tensor.size()));
  share(index);
  if (outputs_[index]->shares) return;
  outputs_[index]->block = Block(subject_, raw.domain, raw_outputs_[index].byte_size, setup_.fill);
  outputs_[index]->block.place(&raw_outputs_[index]);
}

/// Gives an output the memory of its aliased input, if the check asks for that.
void Execution::share(size_t index) {
  const tenon_alias& alias = prepared.aliases[index];
  if (setup_.placement != Placement::kShared || alias.kind == TENON_ALIAS_NONE) return;
  const tenon_tensor& in = raw_inputs_[alias.input];
  tenon_tensor& out = raw_outputs_[index];
  if (in.domain != out.domain || in.kind != TENON_KIND_TENSOR) return;
  if (alias.byte_offset + out.byte_size > in.byte_size)
    throw Failed("R35: the alias of output " + std::to_string(index) + " reaches beyond its input",
                 "alias an input of as many bytes");
  if (out.byte_size == 0) return;
  out.buffer = in.buffer;
  out.byte_offset = in.byte_offset + alias.byte_offset;
  if (in.data != nullptr) out.data = static_cast<uint8_t*>(in.data) + alias.byte_offset;
  outputs_[index]->shares = inputs_[alias.input]->shares = true;
}

void Execution::add_workspace() {
  if (prepared.workspace_bytes == 0) return;
  workspace_ = Block(subject_, prepared.workspace_domain, prepared.workspace_bytes, setup_.fill);
  raw_workspace_.kind = TENON_KIND_TENSOR;
  raw_workspace_.dtype = TENON_UINT8;
  raw_workspace_.byte_size = prepared.workspace_bytes;
  workspace_.place(&raw_workspace_);
}

void Execution::bind() {
  if (subject_.api.bind == nullptr) return;
  tenon_bind_args args{};
  args.struct_size = sizeof args;
  args.program = prepared.program.handle;
  args.prepared = prepared.handle;
  args.inputs = raw_inputs_.data();
  args.outputs = raw_outputs_.data();
  args.input_count = static_cast<uint32_t>(raw_inputs_.size());
  args.output_count = static_cast<uint32_t>(raw_outputs_.size());
  args.workspace = prepared.workspace_bytes > 0 ? &raw_workspace_ : nullptr;
  call("bind", subject_.api.bind, &args, &binding_);
  if (binding_ == nullptr) throw Failed("bind returns OK and no binding", "set *out_binding");
}

CallResult Execution::try_run() {
  for (tenon_run::Output& output : run_->outputs) output.given = 0;
  run_->scratch.clear();
  // The provider gets copies, because the check may ask to overwrite them afterwards.
  std::vector<tenon_tensor> inputs = raw_inputs_;
  tenon_tensor workspace = raw_workspace_;
  tenon_run_args args{};
  args.struct_size = sizeof args;
  args.program = prepared.program.handle;
  args.prepared = prepared.handle;
  args.binding = binding_;
  args.inputs = inputs.data();
  args.outputs = raw_outputs_.data();
  args.input_count = static_cast<uint32_t>(inputs.size());
  args.output_count = static_cast<uint32_t>(raw_outputs_.size());
  args.workspace = prepared.workspace_bytes > 0 ? &workspace : nullptr;
  args.stream = setup_.stream;
  args.run = run_.get();
  args.cancel = setup_.cancel;
  args.work_id = setup_.work_id;
  std::vector<tenon_tensor> outputs = raw_outputs_;
  args.outputs = outputs.data();
  run_->begin_ns = ep::now_ns();
  CallResult result = try_call("run", subject_.api.run, &args);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (run_->outputs[i].given > 0 && !run_->outputs[i].at_run && result.ok())
      throw Failed(
          "R40: output " + std::to_string(i) +
              " was not announced as known only after running, but is made through the host",
          "ask the host for an output that prepare announced as known after running, and for no other");
  }
  if (setup_.spoil_arguments) {
    std::memset(static_cast<void*>(&args), 0x77, sizeof args);
    std::memset(static_cast<void*>(inputs.data()), 0x77, inputs.size() * sizeof(tenon_tensor));
    std::memset(static_cast<void*>(outputs.data()), 0x77, outputs.size() * sizeof(tenon_tensor));
    for (GuardedMemory& memory : run_->scratch) memory.protect(Access::kNone);
  }
  return result;
}

void Execution::run() {
  const CallResult result = try_run();
  if (!result.ok()) throw CallFailed(result.status, "run: " + result.text);
}

void Execution::fill_outputs(uint8_t fill) {
  for (const auto& held : outputs_) {
    if (held->shares || held->block.bytes() == 0) continue;
    const std::vector<uint8_t> bytes(held->block.bytes(), fill);
    held->block.write(bytes.data());
  }
}

void Execution::write_input(size_t index, const void* data) {
  Held& held = *inputs_[index];
  const auto* bytes = static_cast<const uint8_t*>(data);
  held.before.assign(bytes, bytes + held.before.size());
  held.block.write(data);
}

tenon_status Execution::place_output(uint32_t index, tenon_tensor* out) {
  const tenon_run::Output& output = run_->outputs[index];
  Held& held = *outputs_[index];
  held.dims = output.tensor.dims;
  tenon_tensor& raw = raw_outputs_[index];
  raw.rank = static_cast<uint32_t>(held.dims.size());
  raw.dims = held.dims.data();
  raw.byte_size = ep::dtype_bytes(output.tensor.dtype, static_cast<uint64_t>(output.tensor.size()));
  try {
    held.block = Block(subject_, raw.domain, raw.byte_size, setup_.fill);
  } catch (const CallFailed& failed) {
    return failed.status;
  }
  held.block.place(&raw);
  *out = raw;
  return TENON_OK;
}

std::vector<Tensor> Execution::outputs() {
  std::vector<Tensor> out;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const tenon_run::Output& output = run_->outputs[i];
    const std::string name = "output " + std::to_string(i);
    Tensor tensor = output.tensor;
    if (output.at_run && output.given != 1) {
      throw Failed(
          "R40: " + name + " was made " + std::to_string(output.given) + " times",
          "make each string, object and output known only after running exactly once, through the host");
    }
    if (tensor.kind == TENON_KIND_TENSOR && tensor.dtype != TENON_STRING) {
      Held& held = *outputs_[i];
      if (held.shares) {
        const tenon_alias& alias = prepared.aliases[i];
        const std::vector<uint8_t> all = inputs_[alias.input]->block.read();
        const auto begin = all.begin() + static_cast<long>(alias.byte_offset);
        tensor.bytes.assign(begin, begin + static_cast<long>(raw_outputs_[i].byte_size));
      } else {
        if (held.block.overrun())
          throw Failed("R39: bytes around " + name + " were written",
                       "write the output's elements and nothing else");
        tensor.bytes = held.block.read();
      }
    }
    out.push_back(std::move(tensor));
  }
  return out;
}

void Execution::check_surroundings() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Held& held = *inputs_[i];
    if (held.shares || held.object != nullptr) continue;
    if (held.block.overrun() || held.block.read() != held.before)
      throw Failed("R39: input " + std::to_string(i) + " was changed",
                   "write to an input only where its memory was given to an output");
  }
  if (workspace_.bytes() > 0 && workspace_.overrun())
    throw Failed("R39: bytes around the workspace were written", "ask in prepare for as much as run uses");
}

Watched watch_third_run(const Prepared& prepared, const std::string& module_path) {
  const Program& program = prepared.program;
  const auto plain = [&](uint32_t value) {
    const Tensor& tensor = program.graph.values[value].tensor;
    return tensor.kind == TENON_KIND_TENSOR && tensor.dtype != TENON_STRING;
  };
  if (!can_watch() || !std::all_of(program.inputs().begin(), program.inputs().end(), plain) ||
      !std::all_of(program.outputs().begin(), program.outputs().end(), plain) ||
      std::count(prepared.at_run.begin(), prepared.at_run.end(), true) != 0)
    return {};
  Execution execution(prepared);
  execution.run();
  execution.run();
  watch(module_path);
  const CallResult result = execution.try_run();
  const Watched seen = stop_watching();
  if (!result.ok()) throw CallFailed(result.status, "run: " + result.text);
  return seen;
}

}  // namespace tenon::cts
