#include "program.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "graph.h"
#include "stream.h"

namespace accelerator {
namespace {

uint64_t bytes_of(const Dims& dims) { return static_cast<uint64_t>(elements(dims)) * sizeof(float); }

Dims dims_of(const tenon_tensor& tensor) { return Dims(tensor.dims, tensor.dims + tensor.rank); }

Dims numbers_of(const tenon_tensor& tensor) {
  require(tensor.data != nullptr || tensor.dims[0] == 0, TENON_INTERNAL,
          "the host left out the value of a shape input");
  const auto* data = static_cast<const int64_t*>(tensor.data);
  return Dims(data, data + tensor.dims[0]);
}

Constant upload(Device& device, const tenon_tensor& tensor) {
  require(reinterpret_cast<uintptr_t>(tensor.data) % 64 == 0, TENON_INTERNAL,
          "the host's constant is not aligned");
  Constant out;
  out.dims = dims_of(tensor);
  out.buffer = device.allocate(kDeviceDomain, bytes_of(out.dims), nullptr).buffer;
  Access access;
  std::byte* to = access.open(device.bytes, out.buffer, 0, bytes_of(out.dims));
  if (bytes_of(out.dims) != 0) std::memcpy(to, tensor.data, bytes_of(out.dims));
  return out;
}

/// Assigns a slot to each value of the claim.
class Compiler {
 public:
  Compiler(Program& program, const Graph& graph) : program_(program), graph_(graph) {
    const tenon_graph_info& info = graph.info();
    for (uint32_t i = 0; i < info.input_count; ++i) add(info.inputs[i], {Home::kInput, i});
    for (uint32_t i = 0; i < info.output_count; ++i) add(info.outputs[i], {Home::kOutput, i});
    program.input_count = info.input_count;
    program.output_count = info.output_count;
  }

  void compile(uint32_t index) {
    const tenon_node_info node = graph_.node(index);
    const auto kind = op_from_name(view(node.op_type));
    require(kind.has_value(), TENON_INTERNAL, "node '", view(node.name), "' was not claimed");
    Step step{.kind = *kind, .output = slot_of(node.outputs[0])};
    step.place = cat("node '", view(node.name), "' (", view(node.op_type), ")");
    for (size_t i = 0; i < data_inputs(*kind); ++i) step.inputs.push_back(slot_of(node.inputs[i]));
    const FakeOptions& options = program_.instance.options;
    step.is_wrong = view(node.op_type) == options.wrong_op;
    step.fails = !has_fault_ && (options.fault_op.empty() || view(node.op_type) == options.fault_op);
    has_fault_ = has_fault_ || step.fails;
    if (*kind == OpKind::kReshape) read_target(node.inputs[1], &step);
    if (*kind == OpKind::kConcat) step.target = {concat_axis(graph_, index)};
    program_.steps.push_back(std::move(step));
  }

 private:
  uint32_t add(uint32_t value, Slot slot) {
    program_.slots.push_back(slot);
    program_.values.push_back(value);
    return by_value_[value] = static_cast<uint32_t>(program_.slots.size() - 1);
  }

  uint32_t slot_of(uint32_t value) {
    if (const auto at = by_value_.find(value); at != by_value_.end()) return at->second;
    if ((graph_.value(value).flags & TENON_VALUE_CONSTANT) == 0) return add(value, {Home::kWorkspace, 0});
    program_.constants.push_back(upload(program_.instance.device, graph_.constant(value)));
    graph_.consume(value);
    return add(value, {Home::kConstant, static_cast<uint32_t>(program_.constants.size() - 1)});
  }

  void read_target(uint32_t value, Step* step) {
    if ((graph_.value(value).flags & TENON_VALUE_CONSTANT) != 0) {
      step->target = numbers_of(graph_.constant(value));
      return;
    }
    const Slot& slot = program_.slots[slot_of(value)];
    require(slot.home == Home::kInput, TENON_INTERNAL, "the shape of Reshape is not an input of the claim");
    step->target_input = slot.index;
  }

  Program& program_;
  const Graph& graph_;
  std::map<uint32_t, uint32_t> by_value_;
  bool has_fault_ = false;
};

/// Checks that the shapes given by the host for values within the claim match the computed ones.
void check_values(const Program& program, const tenon_prepare_args& args, const std::vector<Dims>& dims) {
  const bool asked = program.instance.options.needs_values && program.steps.size() > 1;
  require(args.values != nullptr || !asked, TENON_INTERNAL,
          "the host prepares without the shapes within the claim");
  if (args.values == nullptr) return;
  for (size_t s = 0; s < dims.size(); ++s) {
    require(program.values[s] < args.value_count, TENON_INTERNAL,
            "the host gives the shapes of too few values");
    const tenon_shape& shape = args.values[program.values[s]];
    if (shape.flags == 0) continue;
    require(Dims(shape.dims, shape.dims + shape.rank) == dims[s], TENON_INTERNAL,
            "the host gives another shape for a value within the claim");
  }
}

void check_static(const Graph& graph) {
  require((graph.info().flags & TENON_GRAPH_STATIC) != 0, TENON_INTERNAL,
          "a static claim is compiled without shapes");
  for (uint32_t v = 0; v < graph.info().value_count; ++v) {
    const tenon_value_info info = graph.value(v);
    require(info.rank >= 0 && std::count(info.dims, info.dims + info.rank, TENON_DIM_UNKNOWN) == 0,
            TENON_INTERNAL, "a static claim is compiled without the shape of '", view(info.name), "'");
  }
}

/// An empty `op` matches any.
bool has_operator(const Graph& graph, const std::string& op) {
  for (uint32_t n = 0; n < graph.info().node_count; ++n) {
    if (op.empty() || view(graph.node(n).op_type) == op) return true;
  }
  return false;
}

}  // namespace

Program::Program(Instance& instance, const tenon_compile_args& args) : instance(instance) {
  instance.device.check_lost();
  const Graph graph(args.graph);
  if (has_operator(graph, instance.options.fault_op)) instance.maybe_fail("compile");
  instance.maybe_wait("wait_compile", args.cancel);
  require(args.tag == 0xACC0000 + graph.info().node_count, TENON_INTERNAL,
          "the host gave another claim's tag");
  if (instance.options.static_claims) check_static(graph);
  try {
    Compiler compiler(*this, graph);
    for (uint32_t n = 0; n < graph.info().node_count; ++n) compiler.compile(n);
  } catch (...) {
    for (const Constant& constant : constants) instance.device.free(constant.buffer, nullptr);
    throw;
  }
}

Program::~Program() {
  for (const Constant& constant : constants) instance.device.free(constant.buffer, nullptr);
}

Prepared::Prepared(const Program& program, tenon_prepare_args& args)
    : dims(program.slots.size()),
      workspace_offsets(program.slots.size(), 0),
      host_inputs(program.input_count, false) {
  program.instance.maybe_fail("prepare");
  program.instance.maybe_wait("wait_prepare", args.cancel);
  require(args.input_count == program.input_count && args.output_count == program.output_count,
          TENON_INTERNAL, "the host prepares with another number of inputs or outputs than it compiled");
  for (size_t s = 0; s < program.slots.size(); ++s) {
    const Slot& slot = program.slots[s];
    if (slot.home == Home::kInput) dims[s] = dims_of(args.inputs[slot.index]);
    if (slot.home == Home::kConstant) dims[s] = program.constants[slot.index].dims;
  }
  for (const Step& step : program.steps) {
    std::vector<Dims> inputs;
    for (const uint32_t input : step.inputs) inputs.push_back(dims[input]);
    Dims target = step.target;
    if (step.target_input != TENON_NO_INDEX) {
      host_inputs[step.target_input] = true;
      target = numbers_of(args.inputs[step.target_input]);
    }
    dims[step.output] = infer(step.kind, inputs, target);
    if (program.slots[step.output].home != Home::kWorkspace) continue;
    workspace_offsets[step.output] = workspace_bytes;
    workspace_bytes += (bytes_of(dims[step.output]) + kAlignment - 1) / kAlignment * kAlignment;
  }
  check_values(program, args, dims);
  for (size_t s = 0; s < program.slots.size(); ++s) {
    if (program.slots[s].home != Home::kOutput) continue;
    tenon_shape& shape = args.outputs[program.slots[s].index];
    std::copy(dims[s].begin(), dims[s].end(), shape.dims);
    shape.rank = static_cast<uint32_t>(dims[s].size());
    shape.flags = TENON_SHAPE_KNOWN;
  }
  args.workspace_bytes = workspace_bytes;
  args.workspace_alignment = kAlignment;
  args.workspace_domain = kDeviceDomain;
}

Bound::Bound(const tenon_bind_args& args)
    : program(*reinterpret_cast<const Program*>(args.program)),
      prepared(*reinterpret_cast<const Prepared*>(args.prepared)),
      addresses(program.slots.size()) {
  const auto place = [&](size_t s, const tenon_tensor& tensor, const char* what) {
    require(dims_of(tensor) == prepared.dims[s], TENON_INTERNAL, "the host binds ", what,
            " of another shape");
    if (elements(prepared.dims[s]) == 0) return;
    require(tensor.domain == kDeviceDomain && tensor.buffer != nullptr, TENON_INTERNAL, "the host binds ",
            what, " outside of the claim's memory domain");
    require(tensor.data == nullptr, TENON_INTERNAL, "the host gives an address in an opaque domain");
    require(tensor.byte_offset % kAlignment == 0, TENON_INTERNAL, "the host binds ", what,
            " without alignment");
    addresses[s] = {tensor.buffer, tensor.byte_offset};
  };
  for (size_t s = 0; s < program.slots.size(); ++s) {
    const Slot& slot = program.slots[s];
    if (slot.home == Home::kInput && !prepared.host_inputs[slot.index])
      place(s, args.inputs[slot.index], "an input");
    if (slot.home == Home::kOutput) place(s, args.outputs[slot.index], "an output");
    if (slot.home == Home::kConstant) addresses[s] = {program.constants[slot.index].buffer, 0};
    if (slot.home != Home::kWorkspace || prepared.workspace_bytes == 0) continue;
    require(args.workspace != nullptr && args.workspace->domain == kDeviceDomain, TENON_INTERNAL,
            "the host gives no workspace");
    require(args.workspace->byte_offset % kAlignment == 0, TENON_INTERNAL, "the workspace is not aligned");
    addresses[s] = {args.workspace->buffer, args.workspace->byte_offset + prepared.workspace_offsets[s]};
  }
}

void Bound::execute(Stream* stream, uint64_t work_id) {
  Access access;
  std::vector<float*> data(addresses.size(), nullptr);
  const std::string* place = program.steps.empty() ? nullptr : &program.steps.front().place;
  try {
    for (size_t s = 0; s < addresses.size(); ++s) {
      if (addresses[s].buffer == nullptr) continue;
      data[s] = reinterpret_cast<float*>(access.open(program.instance.device.bytes, addresses[s].buffer,
                                                     addresses[s].byte_offset, bytes_of(prepared.dims[s])));
    }
    for (const Step& step : program.steps) {
      place = &step.place;
      const Stream::Timer timer(stream, step.place, work_id);
      run_step(step, data, stream);
    }
  } catch (Error& error) {
    if (stream != nullptr && place != nullptr && error.where.empty()) error.where = *place;
    throw;
  }
}

void Bound::run_step(const Step& step, const std::vector<float*>& data, Stream* stream) {
  Instance& instance = program.instance;
  if (step.fails) {
    instance.maybe_fail("late");
    if (instance.is_due("hang")) {
      require(stream != nullptr, TENON_INTERNAL, "the injected fault 'hang' needs a stream");
      stream->hang(step.place);
    }
  }
  std::vector<View> inputs;
  for (const uint32_t input : step.inputs) inputs.push_back({data[input], prepared.dims[input]});
  const Dims& dims = prepared.dims[step.output];
  compute(step.kind, inputs, data[step.output], dims, step.target);
  if (instance.rounds_to_bf16) round_to_bf16({data[step.output], static_cast<size_t>(elements(dims))});
  if (step.is_wrong && elements(dims) != 0) data[step.output][0] += 1;
}

std::unique_ptr<Prepared> Program::prepare(tenon_prepare_args& args) const {
  return std::make_unique<Prepared>(*this, args);
}

namespace {

/// What fails on the host's thread.
void enter(Instance& instance) {
  instance.device.check_lost();
  for (const char* fault : {"run", "memory", "lost", "lost_process"}) instance.maybe_fail(fault);
}

}  // namespace

Work Bound::work(std::shared_ptr<Bound> bound, uint64_t work_id) {
  return {.act = [bound = std::move(bound), work_id](Stream* stream) {
    require(bound->is_bound, TENON_INTERNAL, "the host has unbound the binding of enqueued work");
    bound->execute(stream, work_id);
  }};
}

void Binding::run(const tenon_run_args& args) {
  Instance& instance = bound_->program.instance;
  const InCall call(instance.device.counters());
  const TraceSpan span(args.run, "submission");
  const OneAtATime alone(instance.device);
  instance.device.check_lost();
  instance.maybe_wait("wait_run", args.cancel);
  auto* stream = reinterpret_cast<Stream*>(args.stream);
  if (stream != nullptr && stream->records()) return record(*stream, args.work_id);
  ++instance.device.counters().runs;
  enter(instance);
  require(!bound_->busy.exchange(true), TENON_INTERNAL, "the host runs a binding that is still at work");
  const std::shared_ptr<Bound> busy(bound_.get(), [bound = bound_](Bound* used) { used->busy = false; });
  Stream::submit(stream, Bound::work(busy, args.work_id));
}

void Binding::record(Stream& stream, uint64_t work_id) {
  Instance& instance = bound_->program.instance;
  require(instance.options.records, TENON_UNIMPLEMENTED, "the option record = \"no\"");
  ++instance.device.counters().recorded_runs;
  Work work = Bound::work(bound_, work_id);
  // Each run of the recording is a Run for the faults. The host cannot know which of its works failed.
  work.enter = [bound = bound_] {
    try {
      enter(bound->program.instance);
    } catch (Error& error) {
      error.where = bound->program.steps.front().place;
      throw;
    }
  };
  Stream::submit(&stream, std::move(work));
}

}  // namespace accelerator
