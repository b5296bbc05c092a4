#include "host/device/graph_id.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>

#include "host/base/fork.h"
#include "host/device/graph_view.h"
#include "host/device/hasher.h"

namespace tenon::runtime {
namespace {

Sha256::Digest compute(const ir::Tensor& tensor) {
  Hasher hash("tenon constant 1");
  hash.number(static_cast<uint32_t>(tensor.type()));
  hash.numbers(std::span<const int64_t>(tensor.dims()));
  if (tensor.type() == ir::ElementType::kString) {
    for (int64_t i = 0; i < tensor.element_count(); ++i) hash.text(tensor.string_at(i));
  } else {
    hash.bytes(tensor.data(), tensor.byte_size());
  }
  return hash.digest();
}

/// The ids of tensors by address. An address may belong to another tensor later, so each id knows its object.
class Ids {
 public:
  struct Entry {
    std::weak_ptr<const ir::Tensor> tensor;
    std::once_flag once;
    Sha256::Digest id{};
  };

  std::shared_ptr<Entry> find(const ir::TensorPtr& tensor) {
    const std::lock_guard lock(mutex_);
    const auto known = entries_.find(tensor.get());
    if (known != entries_.end() && known->second->tensor.lock() == tensor) return known->second;
    if (entries_.size() >= sweep_at_) sweep();
    auto entry = std::make_shared<Entry>();
    entry->tensor = tensor;
    entries_.insert_or_assign(tensor.get(), entry);
    return entry;
  }

  size_t size() {
    const std::lock_guard lock(mutex_);
    sweep();
    return entries_.size();
  }

 private:
  /// Forgets tensors that are gone. Runs each time the table has doubled, so its cost per tensor is constant.
  void sweep() {
    std::erase_if(entries_, [](const auto& entry) { return entry.second->tensor.expired(); });
    sweep_at_ = std::max<size_t>(2 * entries_.size(), kFirstSweep);
  }

  static constexpr size_t kFirstSweep = 1024;
  std::mutex mutex_;
  size_t sweep_at_ = kFirstSweep;
  std::unordered_map<const ir::Tensor*, std::shared_ptr<Entry>> entries_;
};

Ids& ids() {
  static constinit PerProcess<Ids> made;
  return made.get();
}

void add_constant(Hasher& hash, const ir::TensorPtr& tensor) {
  hash.number(tensor != nullptr ? 1 : 0);
  if (tensor != nullptr) hash.id(constant_id(tensor));
}

Result<Sha256::Digest> fingerprint(const tenon_graph& graph);

Status add_attribute(Hasher& hash, const tenon_graph& graph, uint32_t node, uint32_t index) {
  const ir::Attribute& attribute = graph.nodes[node].node->attributes[index];
  hash.plain_values(attribute);
  hash.number(attribute.tensors.size());
  for (const ir::TensorPtr& tensor : attribute.tensors) add_constant(hash, tensor);
  hash.number(attribute.sparse_tensors.size());
  for (const ir::SparseTensor& sparse : attribute.sparse_tensors) {
    hash.numbers(std::span<const int64_t>(sparse.dims));
    add_constant(hash, sparse.values);
    add_constant(hash, sparse.indices);
  }
  hash.number(attribute.types.size());
  for (const ir::Type& type : attribute.types) hash.type(type);
  hash.number(attribute.graphs.size());
  if (attribute.graphs.empty()) return ok_status();
  tenon_attribute views{};
  views.struct_size = sizeof(views);
  if (graph_attribute(&graph, node, index, &views) != TENON_OK)
    return out_of_memory("no memory for the views of nested graphs");
  for (uint64_t i = 0; i < views.count; ++i) {
    ASSIGN_OR_RETURN(const Sha256::Digest nested, fingerprint(*views.graphs[i]));
    hash.id(nested);
  }
  return ok_status();
}

Status add_node(Hasher& hash, const tenon_graph& graph, uint32_t node) {
  tenon_node_info info{};
  info.struct_size = sizeof(info);
  graph_node(&graph, node, &info);
  for (const tenon_str word : {info.domain, info.op_type, info.overload}) hash.bytes(word.data, word.size);
  hash.number(static_cast<uint64_t>(info.since_version));
  hash.numbers(std::span(info.inputs, info.input_count));
  hash.numbers(std::span(info.outputs, info.output_count));
  hash.numbers(std::span(info.captures, info.capture_count));
  hash.number(info.attribute_count);
  for (uint32_t i = 0; i < info.attribute_count; ++i) RETURN_IF_ERROR(add_attribute(hash, graph, node, i));
  return ok_status();
}

Result<Sha256::Digest> fingerprint(const tenon_graph& graph) {
  Hasher hash("tenon graph 1");
  hash.number(graph.flags);
  hash.numbers(std::span<const uint32_t>(graph.inputs));
  hash.numbers(std::span<const uint32_t>(graph.outputs));
  hash.number(graph.values.size());
  for (const tenon_graph::ValueEntry& value : graph.values) {
    hash.type(*value.type);
    add_constant(hash, value.value->constant);
  }
  hash.number(graph.nodes.size());
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) RETURN_IF_ERROR(add_node(hash, graph, i));
  return hash.digest();
}

}  // namespace

Sha256::Digest constant_id(const ir::TensorPtr& tensor) {
  const std::shared_ptr<Ids::Entry> entry = ids().find(tensor);
  std::call_once(entry->once, [&] { entry->id = compute(*tensor); });
  return entry->id;
}

size_t remembered_ids() { return ids().size(); }

tenon_status graph_constant_id(const tenon_graph* graph, uint32_t value, uint8_t* out_id) noexcept {
  try {
    if (graph == nullptr || out_id == nullptr || value >= graph->values.size()) return TENON_INVALID_ARGUMENT;
    const ir::TensorPtr& tensor = graph->values[value].value->constant;
    if (tensor == nullptr) return TENON_NOT_FOUND;
    std::ranges::copy(constant_id(tensor), out_id);
    return TENON_OK;
  } catch (...) {
    return TENON_RESOURCE_EXHAUSTED;
  }
}

tenon_status graph_fingerprint(const tenon_graph* graph, uint8_t* out_id) noexcept {
  try {
    if (graph == nullptr || out_id == nullptr) return TENON_INVALID_ARGUMENT;
    const Result<Sha256::Digest> id = fingerprint(*graph);
    if (!id.ok()) return static_cast<tenon_status>(id.error().code());
    std::ranges::copy(*id, out_id);
    return TENON_OK;
  } catch (...) {
    return TENON_RESOURCE_EXHAUSTED;
  }
}

}  // namespace tenon::runtime
