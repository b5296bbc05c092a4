#include "program.h"

#include "kernels/common/expression.h"
#include "stream.h"
#include "tenon/ep/device/fused_nodes.hpp"

namespace tenon::cuda {
namespace {

using ep::GraphView;
using ep::NodeView;
using ep::Support;

Support check_values(const Instance& instance, const NodeView& node) {
  std::string text;
  for (int i = 0; i < node.input_count() && text.empty(); ++i) text = instance.unfit(node.input(i));
  for (int i = 0; i < node.output_count() && text.empty(); ++i) text = instance.unfit(node.output(i));
  if (text.empty()) return Support::yes();
  return Support::no(TENON_REJECT_TYPE, ep::cat(node.op(), ": ", text));
}

const ep::KernelEntry* choose(const Instance& instance, const NodeView& node, Support* out_refusal) {
  const ep::KernelEntry* entry = ep::choose_kernel(node, out_refusal);
  if (entry == nullptr) return nullptr;
  *out_refusal = check_values(instance, node);
  return *out_refusal ? entry : nullptr;
}

/// How `instance` chooses a node's kernel, for tenon/ep/device/fused_nodes.hpp.
auto chooser(const Instance& instance) {
  return
      [&instance](const NodeView& node, Support* out_refusal) { return choose(instance, node, out_refusal); };
}

/// Memory on the device with the content of a tensor of the host.
std::unique_ptr<OwnedPiece> upload(const Device& device, const tenon_tensor& tensor) {
  auto out = std::make_unique<OwnedPiece>(device.device_memory(), tensor.byte_size);
  const Transfer transfer{{.pointer = out->get().pointer, .device = &device},
                          {.address = static_cast<char*>(tensor.data)},
                          tensor.byte_size};
  device.do_now([&](CUstream stream) { transfer.enqueue(stream); });
  return out;
}

}  // namespace

void Instance::offer(const tenon_graph* graph, const tenon_claim_sink* sink) const {
  ep::offer_fused_nodes(graph, sink, NodeSettings(*this), kDeviceDomain, Elements::kRules, chooser(*this));
}

CompiledNode::CompiledNode(Instance& instance, const tenon_compile_args& args) : instance_(instance) {
  const Current current(instance.device.context());
  const GraphView graph(args.graph);
  NodeSettings settings(instance);
  node_.view(graph, 0, settings);  // names the place of errors
  try {
    ep::compile_fused_nodes<Elements>(graph, settings, chooser(instance), node_, constant_ids_);
  } catch (ep::Error& e) {
    e.text = ep::cat(place(), ": ", e.text);
    throw;
  }
}

ep::PreparedNodePtr CompiledNode::prepare(tenon_prepare_args& args) const {
  ep::PreparedNodePtr out = node_.prepare(args);
  if (args.workspace_bytes != 0) args.workspace_domain = kDeviceDomain;
  return out;
}

const Piece& CompiledNode::constant(const tenon_tensor& tensor) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = constants_.find(&tensor); known != constants_.end())
      return known->second->get()->get();
  }
  // Without the lock: a host that makes one object at a time may be within packed() here, which reads constants.
  const std::string id = constant_ids_.id_of(tensor);
  auto made = std::make_unique<SharedPiece>(instance_, id.empty() ? id : "constant/" + id,
                                            [&] { return upload(instance_.device, tensor).release(); });
  const std::lock_guard lock(mutex_);
  return constants_.try_emplace(&tensor, std::move(made)).first->second->get()->get();
}

const Piece& CompiledNode::packed(const tenon_tensor& tensor, std::string_view layout, uint64_t bytes,
                                  const std::function<void(Launches&, const Piece&)>& list) const {
  const std::lock_guard lock(packing_);
  if (packed_ != nullptr) return packed_->get()->get();
  const std::string id = constant_ids_.id_of(tensor);
  packed_ =
      std::make_unique<SharedPiece>(instance_, id.empty() ? id : ep::cat("packed/", layout, "/", id), [&] {
        auto piece = std::make_unique<OwnedPiece>(instance_.device.device_memory(), bytes);
        const std::unique_ptr<OwnedPiece> plain = upload(instance_.device, tensor);  // only for a moment
        Launches launches(*this, tensor, plain->get());
        list(launches, piece->get());
        instance_.device.do_now([&](CUstream stream) { launches.enqueue(stream); });
        return piece.release();
      });
  return packed_->get()->get();
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
  const Current current(device().context());
  Recorder recorder(args, *this);
  node_.node().record(recorder);
}

CUdeviceptr Launches::find(const tenon_tensor& tensor) const {
  if (tensor.kind == TENON_KIND_NONE || tensor.byte_size == 0) return 0;
  if (&tensor == given_) return given_piece_.pointer;
  if (node_.node().is_constant(&tensor)) return node_.constant(tensor).pointer;
  if (tensor.buffer == nullptr) return 0;
  return from_border(tensor.buffer)->piece.get().pointer + tensor.byte_offset;
}

void Launches::enqueue(CUstream stream, Timestamps* times, uint64_t work_id) const {
  for (const Step& step : steps_) {
    if (times != nullptr) times->begin(name_of(step), work_id);
    if (const auto* const launch = std::get_if<KernelLaunch>(&step)) {
      check(driver().cuLaunchKernel(launch->function, launch->grid[0], launch->grid[1], launch->grid[2],
                                    launch->block[0], launch->block[1], launch->block[2], 0, stream,
                                    const_cast<void**>(launch->pointers.data()), nullptr),
            launch->name);
    } else {
      std::get<LibraryCall>(step).enqueue(stream);
    }
    if (times != nullptr) times->end();
  }
}

std::string Launches::name_of(const Step& step) const {
  if (steps_.size() == 1) return node_.place();
  return ep::cat(node_.place(), ": ", std::visit([](const auto& one) { return one.name; }, step));
}

void Launches::run(const tenon_run_args& args) const {
  if (args.stream != nullptr) return reinterpret_cast<Stream*>(args.stream)->run(*this, args.work_id);
  const Current current(device().context());
  const CUstream stream = node_.instance().stream.get();
  try {
    enqueue(stream);
  } catch (...) {
    driver().cuStreamSynchronize(stream);  // what was enqueued uses memory that the host may free
    throw;
  }
  check(driver().cuStreamSynchronize(stream), "work on the device");
  if (flag_ == nullptr) return;
  std::optional<ep::Error> error = flag_->take();
  if (!error) return;
  error->flags &= ~static_cast<uint32_t>(TENON_ERROR_ASYNC);
  throw std::move(*error);
}

const Piece& Launches::flag_piece() {
  if (flag_ == nullptr) flag_ = std::make_shared<IndexFlag>(node_.instance(), node_.place());
  return flag_->piece();
}

}  // namespace tenon::cuda
