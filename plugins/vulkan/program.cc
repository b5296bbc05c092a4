#include "program.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/expression.h"
#include "loops.h"
#include "tenon/ep/device/fused_nodes.hpp"

namespace tenon::vulkan {
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

constexpr std::string_view kLoopsEnd =
    "loops of this driver (llvmpipe) end after 65535 steps, and this node takes more";

/// The most steps per element. A work-item of the largest launches does several, each with loops of its own.
int64_t most_steps(const Device& device) { return device.limits().max_steps / 4; }
bool loops_end(const Device& device) { return device.limits().max_steps != INT64_MAX; }

/// Where shapes are not known yet, prepare() looks.
Support check_loops(const Instance& instance, const NodeView& node) {
  const int64_t most = most_steps(instance.device);
  if (!loops_end(instance.device)) return Support::yes();
  const std::optional<int64_t> steps = loop_steps_of(node)(known_shapes(node));
  if (!steps || *steps <= most) return Support::yes();
  return Support::no(TENON_REJECT_SHAPE, ep::cat(node.op(), ": ", kLoopsEnd));
}

const ep::KernelEntry* choose(const Instance& instance, const NodeView& node, Support* out_refusal) {
  const ep::KernelEntry* entry = ep::choose_kernel(node, out_refusal);
  if (entry == nullptr) return nullptr;
  *out_refusal = check_values(instance, node);
  if (*out_refusal) *out_refusal = check_loops(instance, node);
  return *out_refusal ? entry : nullptr;
}

/// How `instance` chooses a node's kernel, for tenon/ep/device/fused_nodes.hpp.
auto chooser(const Instance& instance) {
  return
      [&instance](const NodeView& node, Support* out_refusal) { return choose(instance, node, out_refusal); };
}

/// Memory on the device with the given content.
std::unique_ptr<OwnedPiece> upload(Device& device, MemoryPool& pool, const tenon_tensor& tensor) {
  auto out = std::make_unique<OwnedPiece>(pool, tensor.byte_size);
  const Piece& piece = out->get();
  if (piece.address() != nullptr) {
    std::memcpy(piece.address(), tensor.data, tensor.byte_size);
  } else {
    const Transfer transfer{{piece.buffer(), piece.offset, nullptr},
                            {.address = static_cast<char*>(tensor.data)},
                            tensor.byte_size};
    device.do_now([&](Stream& stream) { stream.copy(transfer, 0); });
  }
  return out;
}

}  // namespace

void Instance::offer(const tenon_graph* graph, const tenon_claim_sink* sink) const {
  ep::offer_fused_nodes(graph, sink, NodeSettings(*this), domain(), kChainRules, chooser(*this));
}

CompiledNode::CompiledNode(Instance& instance, const tenon_compile_args& args) : instance_(instance) {
  const GraphView graph(args.graph);
  NodeSettings settings(instance);
  const NodeView first = node_.view(graph, 0, settings);
  try {
    const uint32_t count =
        ep::compile_fused_nodes<Elements>(graph, settings, chooser(instance), node_, constant_ids_);
    if (!loops_end(instance.device)) return;
    loop_steps_ = loop_steps_of(first);
    if (count == 1) return;
    // The loops of element-wise nodes do not depend on shapes.
    int64_t steps = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const NodeView node = node_.view(graph, i, settings);
      steps += loop_steps_of(node)(known_shapes(node)).value_or(0);
    }
    loop_steps_ = [steps](const ShapeOf&) { return std::optional(steps); };
  } catch (ep::Error& e) {
    e.text = ep::cat(place(), ": ", e.text);
    throw;
  }
}

ep::PreparedNodePtr CompiledNode::prepare(tenon_prepare_args& args) const {
  if (loop_steps_) {
    const std::optional<int64_t> steps = loop_steps_([&](int i) { return node_.input_dims(args, i); });
    ep::require(!steps || *steps <= most_steps(instance_.device), TENON_UNIMPLEMENTED, kLoopsEnd,
                "; a placement rule sends it to another provider");
  }
  ep::PreparedNodePtr out = node_.prepare(args);
  if (args.workspace_bytes != 0) args.workspace_domain = kDeviceDomain;
  return out;
}

int64_t CompiledNode::elements_per_item(const ShapeOf& shape) const {
  constexpr int64_t kMostElements = 16, kStepsToFindAnElement = 16;
  const Limits& limits = instance_.device.limits();
  if (!limits.is_software) return 1;
  const std::optional<int64_t> steps = loop_steps_ ? loop_steps_(shape) : 0;
  if (!steps) return 1;
  return std::clamp<int64_t>(limits.max_steps / (*steps + kStepsToFindAnElement), 1, kMostElements);
}

const Piece& CompiledNode::constant(const tenon_tensor& tensor) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = constants_.find(&tensor); known != constants_.end())
      return known->second->get()->get();
  }
  // Without the lock: a host that makes one object at a time may be within packed() here, which reads constants.
  const std::string id = constant_ids_.id_of(tensor);
  Device& device = instance_.device;
  auto made = std::make_unique<SharedPiece>(instance_, id.empty() ? id : "constant/" + id, [&] {
    return upload(device, device.device_memory(), tensor).release();
  });
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
        {
          Launches launches(*this);
          list(launches, piece->get());
          launches.finish();
          instance_.device.do_now([&](Stream& stream) { stream.run(launches, 0); });
        }
        const std::lock_guard lock_constants(mutex_);
        constants_.erase(&tensor);  // the kernel reads the other form from now on
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
  Recorder recorder(args, *this);
  elements_per_item_ = node_.elements_per_item([&](int i) -> std::optional<ep::Dims> {
    const ep::DimsView dims = recorder.input(i).dims();
    return ep::Dims(dims.begin(), dims.end());
  });
  node_.node().record(recorder);
  finish();
}

BufferRange Launches::find(const tenon_tensor& tensor) const {
  if (tensor.kind == TENON_KIND_NONE || tensor.byte_size == 0) return {};
  if (node_.node().is_constant(&tensor)) {
    const Piece& piece = node_.constant(tensor);
    return {piece.buffer(), piece.offset, tensor.byte_size};
  }
  if (tensor.buffer == nullptr) return {};
  const Piece& piece = from_border(tensor.buffer)->piece.get();
  return {piece.buffer(), piece.offset + tensor.byte_offset, tensor.byte_size};
}

void Launches::finish() {
  if (drafts_.empty()) return;
  const VkDevice device = this->device().get();
  const uint64_t alignment = this->device().limits().binding_alignment;
  const auto padded = [&](const LaunchDraft& draft) {
    const uint64_t bytes = std::max<uint64_t>(draft.numbers.size(), 1) * sizeof(uint32_t);
    return (bytes + alignment - 1) / alignment * alignment;
  };
  uint64_t bytes = 0;
  for (const LaunchDraft& draft : drafts_) bytes += padded(draft);
  numbers_ = OwnedPiece(this->device().staging_memory(), bytes);
  uint64_t at = 0;
  accesses_.reserve(drafts_.size());
  for (const LaunchDraft& draft : drafts_) {
    std::memcpy(numbers_.get().address() + at, draft.numbers.data(), draft.numbers.size() * sizeof(uint32_t));
    sets_.push_back(this->device().descriptors().make_set(*draft.pipeline->layout));
    std::vector<VkDescriptorBufferInfo> buffers{
        {numbers_.get().buffer(), numbers_.get().offset + at, padded(draft)}};
    buffers.reserve(draft.bindings.size() + 1);
    std::vector<VkBufferView> views;
    views.reserve(draft.bindings.size());
    std::vector<VkWriteDescriptorSet> writes;
    std::vector<Access>& accesses = accesses_.emplace_back();
    const auto write = [&](VkDescriptorType type) -> VkWriteDescriptorSet& {
      auto& out =
          writes.emplace_back(make_struct<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET));
      out.dstSet = sets_.back().get();
      out.dstBinding = static_cast<uint32_t>(writes.size() - 1);
      out.descriptorCount = 1;
      out.descriptorType = type;
      return out;
    };
    write(VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER).pBufferInfo = buffers.data();
    for (const LaunchDraft::Binding& binding : draft.bindings) {
      const BufferRange& range = binding.range;
      if (binding.is_texels) {
        auto create = make_struct<VkBufferViewCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO);
        create.buffer = range.buffer;
        create.format = VK_FORMAT_R32G32B32A32_SFLOAT;
        create.offset = range.offset;
        create.range = range.bytes;
        VkBufferView view = VK_NULL_HANDLE;
        check(vkCreateBufferView(device, &create, nullptr, &view), "vkCreateBufferView");
        views_.emplace_back(device, view);
        views.push_back(view);
        write(VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER).pTexelBufferView = &views.back();
      } else {
        buffers.push_back({range.buffer, range.offset, range.bytes});
        write(VK_DESCRIPTOR_TYPE_STORAGE_BUFFER).pBufferInfo = &buffers.back();
      }
      if (binding.reads) accesses.push_back({range, false});
      if (binding.writes) accesses.push_back({range, true});
    }
    vkUpdateDescriptorSets(device, static_cast<uint32_t>(writes.size()), writes.data(), 0, nullptr);
    launches_.push_back({draft.pipeline->handle.get(), draft.pipeline->layout->pipeline.get(),
                         sets_.back().get(), draft.groups, accesses});
    at += padded(draft);
  }
  drafts_.clear();
}

void Launches::run(const tenon_run_args& args) const {
  if (args.stream != nullptr) return reinterpret_cast<Stream*>(args.stream)->run(*this, args.work_id);
  if (alone_ == nullptr) alone_ = std::make_unique<Alone>(device(), *this);
  alone_->run();
}

const Piece& Launches::flag_piece() {
  if (flag_ == nullptr) flag_ = std::make_shared<IndexFlag>(node_.instance(), node_.place());
  return flag_->piece();
}

}  // namespace tenon::vulkan
