#include "program.h"

#include "stream.h"
#include "tenon/ep/device/followers.hpp"

namespace tenon::opencl {
namespace {

using ep::GraphView;
using ep::NodeView;
using ep::Support;
using ep::ValueView;

/// Returns an empty string if the device can hold the value, else the reason.
std::string unfit(const Instance& instance, const ValueView& value) {
  if (!value.present()) return {};
  if (value.kind() != TENON_KIND_TENSOR) return ep::cat("'", value.name(), "' is not a tensor");
  if (instance.stores(value.dtype())) return {};
  return ep::cat("'", value.name(), "' has element type ", ep::dtype_name(value.dtype()),
                 ", which this device does not support");
}

Support check_types(const Instance& instance, const NodeView& node) {
  std::string text;
  for (int i = 0; i < node.input_count() && text.empty(); ++i) text = unfit(instance, node.input(i));
  for (int i = 0; i < node.output_count() && text.empty(); ++i) text = unfit(instance, node.output(i));
  if (text.empty()) return Support::yes();
  return Support::no(TENON_REJECT_TYPE, ep::cat(node.op(), ": ", text));
}

const ep::KernelEntry* choose(const Instance& instance, const NodeView& node, Support* out_refusal) {
  const ep::KernelEntry* entry = ep::choose_kernel(node, out_refusal);
  if (entry == nullptr) return nullptr;
  *out_refusal = check_types(instance, node);
  return *out_refusal ? entry : nullptr;
}

/// The nodes of a claim that starts with `node`: the node, and the next one if it can be fused.
std::vector<uint32_t> gather(const Instance& instance, const GraphView& graph, const ep::Followers& followers,
                             const NodeView& node, uint32_t index, ep::ConstantStore& store) {
  const uint32_t next = followers.of(node);
  if (next == TENON_NO_INDEX) return {index};
  const NodeSettings settings(instance);
  return ep::clamp_after(node, NodeView(graph, next, store, settings)) ? std::vector<uint32_t>{index, next}
                                                                       : std::vector<uint32_t>{index};
}

/// The kernel's name in its source.
std::string function_of(cl_kernel kernel) {
  size_t bytes = 0;
  check(clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, nullptr, &bytes), "clGetKernelInfo");
  std::string out(bytes, '\0');
  check(clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, bytes, out.data(), nullptr), "clGetKernelInfo");
  return out.c_str();
}

}  // namespace

void Instance::offer(const tenon_graph* raw, const tenon_claim_sink* sink) const {
  const Instance& instance = *this;
  const GraphView graph(raw);
  const ep::Followers followers(graph);
  const NodeSettings settings(instance);
  std::vector<bool> claimed(graph.info().node_count, false);
  for (uint32_t i = 0; i < graph.info().node_count; ++i) {
    ep::ConstantStore store;
    const NodeView node(graph, i, store, settings);
    if (claimed[i] || (node.info().flags & TENON_NODE_TAKEN) != 0) continue;
    Support refusal = Support::yes();
    const ep::KernelEntry* entry = choose(instance, node, &refusal);
    if (entry == nullptr) {
      ep::reject_node(sink, i, refusal);
      continue;
    }
    const std::vector<uint32_t> nodes = gather(instance, graph, followers, node, i, store);
    for (const uint32_t n : nodes) claimed[n] = true;
    ep::claim_node(sink, node, nodes, *entry, instance.domain());
  }
}

CompiledNode::CompiledNode(Instance& instance, const tenon_compile_args& args) : instance_(instance) {
  const GraphView graph(args.graph);
  const uint32_t count = graph.info().node_count;
  ep::require(count == 1 || count == 2, TENON_INTERNAL, "the host compiles a claim of ", count,
              " nodes that was not offered");
  NodeSettings settings(instance);
  const NodeView node = node_.view(graph, 0, settings);
  try {
    Support refusal = Support::yes();
    const ep::KernelEntry* entry = choose(instance, node, &refusal);
    if (entry == nullptr) ep::fail(TENON_UNIMPLEMENTED, refusal.text());
    if (count == 2) {
      settings.clamp = ep::clamp_after(node, node_.view(graph, 1, settings));
      ep::require(static_cast<bool>(settings.clamp), TENON_INTERNAL,
                  "the host compiles two nodes together that were not offered together");
    }
    node_.compile(graph, node, *entry);
    if (count == 2) node_.redirect_output(0);
    if (!instance.constants_in_place) constant_ids_.identify(node);
  } catch (ep::Error& e) {
    e.text = ep::cat(place(), ": ", e.text);
    throw;
  }
}

ep::PreparedNodePtr CompiledNode::prepare(tenon_prepare_args& args) const {
  ep::PreparedNodePtr out = node_.prepare(args);
  if (args.workspace_bytes != 0) args.workspace_domain = instance_.domain();
  return out;
}

cl_mem CompiledNode::constant(const tenon_tensor& tensor) const {
  if (tensor.byte_size == 0) return nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = constants_.find(&tensor); known != constants_.end()) return known->second->get();
  }
  // Without the lock: a host that makes one object at a time may be within packed() here, which reads constants.
  const cl_mem_flags where = instance_.constants_in_place ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR;
  const std::string id = constant_ids_.id_of(tensor);
  auto made = std::make_unique<SharedBuffer>(instance_, id.empty() ? id : "constant/" + id, [&] {
    return instance_.device.make_buffer(tensor.byte_size, CL_MEM_READ_ONLY | where, tensor.data).release();
  });
  const std::lock_guard lock(mutex_);
  return constants_.try_emplace(&tensor, std::move(made)).first->second->get();
}

cl_mem CompiledNode::packed(const tenon_tensor& tensor, std::string_view layout, uint64_t bytes,
                            const std::function<void(Launches&, cl_mem)>& list) const {
  const std::lock_guard lock(packing_);
  if (packed_ != nullptr) return packed_->get();
  const std::string id = constant_ids_.id_of(tensor);
  packed_ =
      std::make_unique<SharedBuffer>(instance_, id.empty() ? id : ep::cat("packed/", layout, "/", id), [&] {
        MemHandle buffer = instance_.device.make_buffer(std::max<uint64_t>(bytes, 1));
        {
          Launches launches(*this);
          list(launches, buffer.get());
          launches.enqueue(instance_.queue.get());
          check(clFinish(instance_.queue.get()), "clFinish");
        }
        const std::lock_guard lock_constants(mutex_);
        constants_.erase(&tensor);  // the kernel reads the other form from now on
        return buffer.release();
      });
  return packed_->get();
}

Launches::Launches(const tenon_bind_args& bind)
    : node_(*reinterpret_cast<const CompiledNode*>(bind.program)) {
  tenon_run_args args{};
  args.struct_size = sizeof args;
  args.program = bind.program;
  args.prepared = bind.prepared;
  args.inputs = bind.inputs;
  args.outputs = const_cast<tenon_tensor*>(bind.outputs);
  args.input_count = bind.input_count;
  args.output_count = bind.output_count;
  args.workspace = bind.workspace;
  Recorder recorder(args, *this);
  node_.node().record(recorder);
}

BufferRange Launches::find(const tenon_tensor& tensor) {
  if (tensor.kind == TENON_KIND_NONE) return {};
  if (node_.node().is_constant(&tensor)) return {node_.constant(tensor), 0};
  if (tensor.buffer != nullptr) return {from_border(tensor.buffer)->memory.get(), tensor.byte_offset};
  if (tensor.data == nullptr) return {};  // no elements
  for (const Wrapped& known : wrapped_) {
    if (known.data == tensor.data && known.bytes >= tensor.byte_size) return {known.buffer.get(), 0};
  }
  MemHandle buffer = node_.instance().device.make_buffer(
      std::max<uint64_t>(tensor.byte_size, 1), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, tensor.data);
  wrapped_.push_back({tensor.data, tensor.byte_size, std::move(buffer)});
  return {wrapped_.back().buffer.get(), 0};
}

void Launches::enqueue(cl_command_queue queue, Timings* timings, uint64_t work_id) const {
  for (const Command& command : commands_) {
    cl_event event = nullptr;
    check(clEnqueueNDRangeKernel(queue, command.kernel.get(), 3, nullptr, command.global.data(),
                                 command.local.data(), 0, nullptr, timings == nullptr ? nullptr : &event),
          "clEnqueueNDRangeKernel");
    if (timings != nullptr) timings->add(EventHandle(event), name_of(command), work_id);
  }
  if (flag_ != nullptr) flag_->enqueue(queue, timings, work_id);
}

std::string Launches::name_of(const Command& command) const {
  if (commands_.size() == 1) return node_.place();
  return ep::cat(node_.place(), ": ", function_of(command.kernel.get()));
}

void Launches::run(const tenon_run_args& args) const {
  if (args.stream != nullptr) return reinterpret_cast<Stream*>(args.stream)->run(*this, args.work_id);
  auto* const queue = node_.instance().queue.get();
  enqueue(queue);
  check(clFinish(queue), "clFinish");
  if (flag_ == nullptr) return;
  std::optional<ep::Error> error = flag_->take();
  if (!error) return;
  error->flags &= ~static_cast<uint32_t>(TENON_ERROR_ASYNC);
  throw std::move(*error);
}

cl_mem Launches::flag_buffer() {
  if (flag_ == nullptr) flag_ = std::make_shared<IndexFlag>(node_.instance(), node_.place());
  return flag_->buffer();
}

}  // namespace tenon::opencl
