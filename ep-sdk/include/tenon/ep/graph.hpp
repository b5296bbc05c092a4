// NodeView: a kernel's view of its node, in `supports` and in its constructor. Everything in it is borrowed until that
// call returns. Exception: the data of constants that the constructor reads lives as long as the kernel.
#ifndef TENON_EP_GRAPH_HPP_
#define TENON_EP_GRAPH_HPP_

#include <array>
#include <memory>
#include <optional>

#include "tenon/ep/options.hpp"
#include "tenon/ep/tensor.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// Owns descriptors of constants and their dims, at stable addresses.
class ConstantStore {
 public:
  const tenon_tensor* add(const tenon_tensor& tensor) {
    auto entry = std::make_unique<Entry>();
    entry->tensor = tensor;
    for (uint32_t i = 0; i < tensor.rank; ++i) entry->dims[i] = tensor.dims[i];
    entry->tensor.dims = entry->dims.data();
    entries_.push_back(std::move(entry));
    return &entries_.back()->tensor;
  }

 private:
  struct Entry {
    tenon_tensor tensor{};
    std::array<int64_t, TENON_EP_MAX_RANK> dims{};
  };
  std::vector<std::unique_ptr<Entry>> entries_;
};

inline constexpr tenon_tensor kNoTensor{};  // kind NONE

/// SHA-256 of a constant or a graph.
using Digest = std::array<uint8_t, 32>;

/// A graph of the host, by index.
class GraphView {
 public:
  explicit GraphView(const tenon_graph* graph) : graph_(graph) {
    info_.struct_size = sizeof(info_);
    check(host().graph_info(graph, &info_));
  }
  const tenon_graph* raw() const { return graph_; }
  const tenon_graph_info& info() const { return info_; }
  /// The host divides the graph by measured times: claim also what TENON_REJECT_COST would decline.
  bool is_weighed() const { return (info_.flags & TENON_GRAPH_WEIGHED) != 0; }
  tenon_node_info node(uint32_t index) const {
    tenon_node_info out{};
    out.struct_size = sizeof(out);
    check(host().graph_node(graph_, index, &out));
    return out;
  }
  tenon_value_info value(uint32_t index) const {
    tenon_value_info out{};
    out.struct_size = sizeof(out);
    check(host().graph_value(graph_, index, &out));
    return out;
  }
  /// Names a constant by its type, shape and bytes, the same in every process: the key of what a provider makes of it.
  /// Reads all its bytes at the first call. Throws NOT_FOUND for a value without data, and UNIMPLEMENTED when the host
  /// lacks the function.
  Digest constant_id(uint32_t value) const {
    Digest out{};
    require(host().graph_constant_id != nullptr, TENON_UNIMPLEMENTED, "the host gives constants no ids");
    const tenon_status status = host().graph_constant_id(graph_, value, out.data());
    require(status == TENON_OK, status, "the host gives value ", value, " no id");
    return out;
  }
  /// Names the whole view by its nodes, attributes, types, shapes and constants, without names. Throws UNIMPLEMENTED when
  /// the host lacks the function.
  Digest fingerprint() const {
    Digest out{};
    require(host().graph_fingerprint != nullptr, TENON_UNIMPLEMENTED,
            "the host gives graphs no fingerprints");
    const tenon_status status = host().graph_fingerprint(graph_, out.data());
    require(status == TENON_OK, status, "the host gives the graph no fingerprint");
    return out;
  }

 private:
  static void check(tenon_status status) {
    require(status == TENON_OK, status, "the host failed to describe its graph");
  }

  const tenon_graph* graph_;
  tenon_graph_info info_{};
};

/// An input or output of a node.
class ValueView {
 public:
  ValueView() = default;
  ValueView(const GraphView& graph, uint32_t index, ConstantStore& store)
      : info_(graph.value(index)), graph_(graph.raw()), index_(index), store_(&store), present_(true) {}

  bool present() const { return present_; }
  std::string_view name() const { return view(info_.name); }
  uint32_t index() const { return present_ ? index_ : TENON_NO_INDEX; }
  uint32_t kind() const { return present_ ? info_.kind : static_cast<uint32_t>(TENON_KIND_NONE); }
  uint32_t dtype() const { return info_.dtype; }
  bool has_rank() const { return present_ && info_.rank >= 0; }
  int rank() const { return info_.rank; }
  /// Empty when the rank is not known. A dim that is not known is TENON_DIM_UNKNOWN.
  DimsView dims() const { return {info_.dims, has_rank() ? static_cast<size_t>(info_.rank) : 0}; }
  int64_t dim(int i) const { return info_.dims[i]; }
  bool is_constant() const { return present_ && (info_.flags & TENON_VALUE_CONSTANT) != 0; }
  /// Call only for constants.
  TensorView constant() const {
    tenon_tensor tensor{};
    const tenon_status status = host().graph_constant(graph_, index_, &tensor);
    require(status != TENON_RESOURCE_EXHAUSTED, status, "there is no memory for the constant '", name(), "'");
    require(status == TENON_OK, status, "the constant '", name(), "' has no data");
    return TensorView(store_->add(tensor));
  }
  /// Compile only: the kernel keeps its own form of this constant, so the host may release it at once.
  void consume() const {
    if (host().graph_constant_consumed != nullptr) host().graph_constant_consumed(graph_, index_);
  }

 private:
  tenon_value_info info_{};
  const tenon_graph* graph_ = nullptr;
  uint32_t index_ = 0;
  ConstantStore* store_ = nullptr;
  bool present_ = false;
};

class NodeView {
 public:
  NodeView(const GraphView& graph, uint32_t index, ConstantStore& store, const InstanceSettings& instance)
      : graph_(graph), index_(index), info_(graph.node(index)), store_(store), instance_(instance) {}

  std::string_view op() const { return view(info_.op_type); }
  std::string_view domain() const { return view(info_.domain); }
  std::string_view name() const { return view(info_.name); }
  /// Version of the operator's schema that applies, not the opset: Relu at opset 20 is version 14.
  int since_version() const { return info_.since_version; }
  const InstanceSettings& instance() const { return instance_; }
  const tenon_node_info& info() const { return info_; }

  const GraphView& graph() const { return graph_; }
  /// As GraphView::constant_id and GraphView::fingerprint. `value` is one of this node's.
  Digest constant_id(const ValueView& value) const { return graph_.constant_id(value.index()); }
  Digest fingerprint() const { return graph_.fingerprint(); }

  int input_count() const { return static_cast<int>(info_.input_count); }
  int output_count() const { return static_cast<int>(info_.output_count); }
  ValueView input(int i) const { return value(i < input_count() ? info_.inputs[i] : TENON_NO_INDEX); }
  ValueView output(int i) const { return value(i < output_count() ? info_.outputs[i] : TENON_NO_INDEX); }
  bool has_input(int i) const { return i < input_count() && info_.inputs[i] != TENON_NO_INDEX; }
  bool has_output(int i) const { return i < output_count() && info_.outputs[i] != TENON_NO_INDEX; }

  // A missing attribute gives the default, or throws Error where there is no default. A wrong type throws.
  bool has_attr(std::string_view attribute) const { return find(attribute).has_value(); }
  int64_t attr_i(std::string_view attribute) const { return get(attribute, TENON_ATTR_INT).i; }
  int64_t attr_i(std::string_view attribute, int64_t otherwise) const {
    const auto a = find(attribute, TENON_ATTR_INT);
    return a ? a->i : otherwise;
  }
  float attr_f(std::string_view attribute) const {
    return static_cast<float>(get(attribute, TENON_ATTR_FLOAT).f);
  }
  float attr_f(std::string_view attribute, float otherwise) const {
    const auto a = find(attribute, TENON_ATTR_FLOAT);
    return a ? static_cast<float>(a->f) : otherwise;
  }
  std::string attr_s(std::string_view attribute) const {
    return std::string(view(get(attribute, TENON_ATTR_STRING).s));
  }
  std::string attr_s(std::string_view attribute, std::string_view otherwise) const {
    const auto a = find(attribute, TENON_ATTR_STRING);
    return std::string(a ? view(a->s) : otherwise);
  }
  /// This and the next two are empty when the node lacks the attribute; see has_attr().
  std::vector<int64_t> attr_ints(std::string_view attribute) const {
    const auto a = find(attribute, TENON_ATTR_INTS);
    return a ? std::vector<int64_t>(a->ints, a->ints + a->count) : std::vector<int64_t>();
  }
  std::vector<float> attr_floats(std::string_view attribute) const {
    const auto a = find(attribute, TENON_ATTR_FLOATS);
    return a ? std::vector<float>(a->floats, a->floats + a->count) : std::vector<float>();
  }
  std::vector<std::string> attr_strings(std::string_view attribute) const {
    std::vector<std::string> out;
    if (const auto a = find(attribute, TENON_ATTR_STRINGS)) {
      for (uint64_t i = 0; i < a->count; ++i) out.emplace_back(view(a->strings[i]));
    }
    return out;
  }
  /// Not present() when the node lacks it. The data is borrowed: a kernel copies what it keeps.
  TensorView attr_tensor(std::string_view attribute) const {
    const auto a = find(attribute, TENON_ATTR_TENSOR);
    return TensorView(a && a->tensors != nullptr ? store_.add(*a->tensors) : &kNoTensor);
  }

 private:
  ValueView value(uint32_t index) const {
    return index == TENON_NO_INDEX ? ValueView() : ValueView(graph_, index, store_);
  }
  std::optional<tenon_attribute> find(std::string_view attribute,
                                      uint32_t type = TENON_ATTR_UNDEFINED) const {
    tenon_attribute out{};
    out.struct_size = sizeof(out);
    const tenon_status status = host().graph_find_attribute(graph_.raw(), index_, to_str(attribute), &out);
    if (status == TENON_NOT_FOUND) return std::nullopt;
    require(status == TENON_OK, status, "attribute ", attribute, " of ", op(), " cannot be read");
    require(type == TENON_ATTR_UNDEFINED || type == out.type, TENON_INVALID_ARGUMENT, "attribute ", attribute,
            " of ", op(), " has the wrong type");
    return out;
  }
  tenon_attribute get(std::string_view attribute, uint32_t type) const {
    const auto a = find(attribute, type);
    require(a.has_value(), TENON_INVALID_ARGUMENT, op(), " needs the attribute ", attribute);
    return *a;
  }

  const GraphView& graph_;
  uint32_t index_;
  tenon_node_info info_;
  ConstantStore& store_;
  const InstanceSettings& instance_;
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_GRAPH_HPP_
