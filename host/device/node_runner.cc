#include "host/device/node_runner.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/stop.h"
#include "core/ops/ops.h"
#include "host/device/capability.h"
#include "host/device/tenon_run.h"
#include "host/device/transfer.h"
#include "host/services/thread_pool.h"

namespace tenon::runtime {
namespace {

/// One Run of a program that uses memory of its own.
class OneRun : public OutputSink {
 public:
  OneRun(const std::shared_ptr<const Program>& program, std::span<const ValueRef> inputs,
         std::span<const ir::Type> outputs, std::span<const MemoryDomain* const> domains)
      : program_(program), input_values_(inputs), types_(outputs), domains_(domains) {}

  Result<std::vector<ValueRef>> run() {
    RETURN_IF_ERROR(place_inputs());
    RETURN_IF_ERROR(prepare());
    for (uint32_t i = 0; i < outputs_.size(); ++i) RETURN_IF_ERROR(place_output(i));
    RETURN_IF_ERROR(call());
    for (uint32_t i = 0; i < outputs_.size(); ++i) RETURN_IF_ERROR(fetch(i));
    return std::move(results_);
  }

  Status alloc_output(uint64_t, uint32_t output, std::span<const int64_t> dims,
                      tenon_tensor* out_tensor) override {
    RETURN_IF_ERROR(check_output(output));
    made_[output].dims.assign(dims.begin(), dims.end());
    RETURN_IF_ERROR(allocate(output));
    *out_tensor = outputs_[output];
    return ok_status();
  }
  Status set_strings(uint64_t, uint32_t output, ValueRef value) override {
    return set_object(0, output, value);
  }
  Status set_object(uint64_t, uint32_t output, ValueRef value) override {
    RETURN_IF_ERROR(check_output(output));
    results_[output] = std::move(value);
    made_[output].given = true;
    return ok_status();
  }
  Result<ValueRef> value_from_input(uint64_t, uint32_t input) override {
    if (input >= input_values_.size() || !input_values_[input])
      return invalid_input("there is no input ", input);
    return input_values_[input];
  }

 private:
  struct Made {
    std::vector<int64_t> dims;
    Buffer buffer;       // for outputs outside host memory
    bool given = false;  // the provider gave it as a value
    bool placed = false;
  };

  const MemoryDomain* domain(size_t index) const {
    return domains_.empty() || domains_[index] == nullptr ? &host_domain() : domains_[index];
  }

  Status check_output(uint32_t output) const {
    if (output < outputs_.size() && !made_[output].placed && !made_[output].given) return ok_status();
    return internal_error("R40: output ", output, " is not made during the Run, or was made already");
  }

  Status place_inputs() {
    for (size_t i = 0; i < input_values_.size(); ++i) {
      tenon_tensor descriptor{};
      if (input_values_[i]) descriptor = input_values_[i]->tensor;
      const MemoryDomain* where = domain(i);
      if (descriptor.kind == TENON_KIND_TENSOR && !where->is_host()) {
        ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(*where, descriptor.byte_size));
        RETURN_IF_ERROR(copy(Place::of(buffer, 0), Place::host(descriptor.data), descriptor.byte_size));
        buffer.place(&descriptor, 0);
        descriptor.domain = where->local_id;
        input_buffers_.push_back(std::move(buffer));
      }
      inputs_.push_back(descriptor);
    }
    return ok_status();
  }

  Status prepare() {
    std::vector<std::vector<int64_t>> known(types_.size());
    std::vector<Prepared::Dims> dims(types_.size(), nullptr);
    for (size_t i = 0; i < types_.size(); ++i) {
      if (!types_[i].is_tensor() && types_[i].kind != ir::ValueKind::kUnknown) dims[i] = Prepared::no_shape();
      if (!types_[i].is_tensor() || !types_[i].shape.is_static()) continue;
      known[i] = types_[i].shape.to_ints();
      dims[i] = &known[i];
      uint64_t bytes = 0;
      if (current_budget() != nullptr &&
          tensor_bytes(static_cast<uint32_t>(types_[i].element), known[i], &bytes)) {
        RETURN_IF_ERROR(current_budget()->check_size(bytes).with_context(program_->label()));
      }
    }
    ASSIGN_OR_RETURN(prepared_, Prepared::make(program_, inputs_, dims));
    outputs_.resize(types_.size());
    results_.resize(types_.size());
    made_.resize(types_.size());
    return ok_status();
  }

  Status place_output(uint32_t i) {
    const ir::Type& type = types_[i];
    tenon_tensor& descriptor = outputs_[i];
    const PreparedOutput& prepared = prepared_->outputs()[i];
    descriptor.kind = static_cast<uint32_t>(type.kind);
    descriptor.dtype = static_cast<uint32_t>(type.element);
    made_[i].dims = prepared.dims;
    descriptor.rank = static_cast<uint32_t>(made_[i].dims.size());
    descriptor.dims = made_[i].dims.data();
    if (!type.is_tensor() || type.element == ir::ElementType::kString || prepared.at_run) return ok_status();
    return allocate(i);
  }

  Status allocate(uint32_t i) {
    tenon_tensor& descriptor = outputs_[i];
    Made& made = made_[i];
    const MemoryDomain* where = domain(input_values_.size() + i);
    uint64_t bytes = 0;
    if (!tensor_bytes(descriptor.dtype, made.dims, &bytes)) {
      return internal_error("output ", i, " has a type or shape that cannot be allocated");
    }
    ASSIGN_OR_RETURN(results_[i], make_tensor(descriptor.dtype, made.dims));
    if (where->is_host()) {
      descriptor = results_[i]->tensor;
    } else {
      ASSIGN_OR_RETURN(made.buffer, Buffer::allocate(*where, bytes));
      made.buffer.place(&descriptor, 0);
      descriptor.domain = where->local_id;
      descriptor.rank = static_cast<uint32_t>(made.dims.size());
      descriptor.dims = made.dims.data();
      descriptor.byte_size = bytes;
    }
    made.placed = true;
    return ok_status();
  }

  Status call() {
    tenon_tensor workspace{};
    Buffer workspace_buffer;
    if (prepared_->workspace_bytes() != 0) {
      RETURN_IF_ERROR(make_workspace(&workspace, &workspace_buffer));
    }
    const tenon_tensor* workspace_pointer = workspace_buffer ? &workspace : nullptr;
    Binding binding;
    if (program_->instance().has_bind()) {
      ASSIGN_OR_RETURN(binding, Binding::make(prepared_, inputs_, outputs_, workspace_pointer));
    }
    ScratchArena scratch;
    tenon_run run;
    ThreadPool& pool = ThreadPool::process();
    run.threads.set(&pool, pool.size(), program_->instance().is_deterministic());
    run.scratch = &scratch;
    run.sink = this;
    tenon_run_args args{};
    args.struct_size = sizeof(args);
    args.program = program_->handle();
    args.prepared = prepared_->handle();
    args.binding = binding.handle();
    args.inputs = inputs_.data();
    args.outputs = outputs_.data();
    args.input_count = static_cast<uint32_t>(inputs_.size());
    args.output_count = static_cast<uint32_t>(outputs_.size());
    args.workspace = workspace_pointer;
    args.run = &run;
    args.cancel = current_stop_word();
    std::unique_lock<std::mutex> lock;
    if (std::mutex* mutex = program_->run_mutex()) lock = std::unique_lock(*mutex);
    tenon_error error = make_error();
    const tenon_status status = program_->api().run(&args, &error);
    return status == TENON_OK ? ok_status() : program_->status(status, error, "a constant was computed");
  }

  Status make_workspace(tenon_tensor* descriptor, Buffer* buffer) {
    const uint64_t alignment = prepared_->workspace_alignment();
    const MemoryDomain& where = *prepared_->workspace_domain();
    const uint64_t slack = alignment > where.alignment ? alignment : 0;
    ASSIGN_OR_RETURN(*buffer, Buffer::allocate(where, prepared_->workspace_bytes() + slack));
    const auto address = reinterpret_cast<uintptr_t>(buffer->address());
    descriptor->kind = TENON_KIND_TENSOR;
    descriptor->dtype = TENON_UINT8;
    descriptor->byte_size = prepared_->workspace_bytes();
    buffer->place(descriptor, (alignment - address % alignment) % alignment);
    return ok_status();
  }

  Status fetch(uint32_t i) {
    Made& made = made_[i];
    if (!made.placed && !made.given) {
      return internal_error("R40: output ", i, " was not made").with_context(program_->label());
    }
    if (!made.buffer) return ok_status();
    return copy(Place::host(results_[i]->tensor.data), Place::of(made.buffer, 0),
                results_[i]->tensor.byte_size);
  }

  std::shared_ptr<const Program> program_;
  std::span<const ValueRef> input_values_;
  std::span<const ir::Type> types_;
  std::span<const MemoryDomain* const> domains_;
  std::shared_ptr<const Prepared> prepared_;
  std::vector<Buffer> input_buffers_;
  std::vector<tenon_tensor> inputs_, outputs_;
  std::vector<Made> made_;
  std::vector<ValueRef> results_;
};

Result<std::vector<ir::Type>> infer(const ir::Node& node, const std::vector<ir::TensorPtr>& inputs) {
  std::vector<ir::Type> types;
  types.reserve(inputs.size());
  ops::InferInputs known;
  for (const ir::TensorPtr& input : inputs) {
    types.push_back(input == nullptr ? ir::Type() : ir::Type::tensor(input->type(), input->shape()));
    known.types.push_back(input == nullptr ? nullptr : &types.back());
    known.values.push_back(input.get());
  }
  return ops::infer_node(node, known);
}

/// A graph with only this node, whose inputs are constants.
ir::Graph graph_of(const ir::Node& node, const std::vector<ir::TensorPtr>& inputs,
                   std::vector<ir::Type>* types) {
  ir::Graph graph;
  ir::Node copy = node;
  for (size_t i = 0; i < copy.inputs.size(); ++i) {
    const bool given = i < inputs.size() && inputs[i] != nullptr;
    copy.inputs[i] = given ? graph.add_constant(str_cat("input_", i), inputs[i]) : ir::kNone;
  }
  types->resize(copy.outputs.size());
  std::vector<ir::Type> wanted;
  for (size_t i = 0; i < copy.outputs.size(); ++i) {
    if (copy.outputs[i] == ir::kNone) continue;
    copy.outputs[i] = graph.add_value(str_cat("output_", i), (*types)[i]);
    wanted.push_back((*types)[i]);
  }
  *types = std::move(wanted);
  const ir::NodeId id = graph.add_node(std::move(copy));
  for (const ir::ValueId output : graph.node(id).outputs) {
    if (output != ir::kNone) graph.add_output(output);
  }
  return graph;
}

}  // namespace

Result<std::vector<ValueRef>> run_program(const std::shared_ptr<const Program>& program,
                                          std::span<const ValueRef> inputs, std::span<const ir::Type> outputs,
                                          std::span<const MemoryDomain* const> domains) {
  return OneRun(program, inputs, outputs, domains).run();
}

NodeRunner::NodeRunner(std::shared_ptr<Instance> instance, std::map<std::string, int64_t> opset_imports)
    : instance_(std::move(instance)), opset_imports_(std::move(opset_imports)) {}

Result<std::vector<ir::TensorPtr>> NodeRunner::run(const ir::Node& node,
                                                   const std::vector<ir::TensorPtr>& inputs) const {
  if (node.has_subgraph())
    return unsupported("a node with a nested graph is not run alone").with_context(node.label());
  ASSIGN_OR_RETURN(std::vector<ir::Type> types, infer(node, inputs));
  const ir::Graph graph = graph_of(node, inputs, &types);
  ConstantPool constants;
  GraphSource source;
  source.graph = &graph;
  source.opset_imports = &opset_imports_;
  source.constants = &constants;
  ASSIGN_OR_RETURN(const GraphView whole, GraphView::whole(source, {}));
  ASSIGN_OR_RETURN(const Offer offer, ask_capability(*instance_, whole));
  if (offer.claims.size() != 1 || offer.claims[0].nodes.size() != 1) {
    const std::string reason = offer.rejections.empty() ? "no claim" : offer.rejections[0].text;
    return unsupported(instance_->provider_id(), ": ", reason).with_context(node.label());
  }
  const partition::Claim& claim = offer.claims[0];
  const std::unordered_map<ir::ValueId, ir::Type> no_types;
  ASSIGN_OR_RETURN(
      GraphView view,
      GraphView::of_claim(source,
                          {claim.nodes, {}, graph.outputs(), claim.static_shapes ? &no_types : nullptr}));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Program> program,
                   Program::compile(instance_, view, claim.tag, node.label()));
  std::vector<const MemoryDomain*> domains;
  for (const ir::ValueId output : graph.outputs()) {
    domains.push_back(instance_->device().find_domain(claim.domain_of(output, true)));
  }
  ASSIGN_OR_RETURN(const std::vector<ValueRef> made, run_program(program, {}, types, domains));
  std::vector<ir::TensorPtr> out(node.outputs.size());
  size_t next = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (node.outputs[i] == ir::kNone) continue;
    ASSIGN_OR_RETURN(out[i], tensor_of(made[next++]));
  }
  return out;
}

}  // namespace tenon::runtime
