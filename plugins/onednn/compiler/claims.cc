// Capability: finds the largest groups of nodes that can run here, and says why the others cannot.

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "compiler/cost.h"
#include "device.h"
#include "tenon/ep/groups.hpp"

namespace tenon::onednn {
namespace {

/// The rule for every operator: the rank is known, since recipes need it, and the library supports rank and
/// size.
Support rank_suits(const NodeView& node, const ep::ValueView& value, std::string_view what, int i) {
  if (!value.present() || value.is_constant()) return Support::yes();
  const bool known = value.has_rank();
  std::string problem;
  if (!known) {
    problem = "has an unknown rank";
  } else if (value.rank() > static_cast<int>(kMostAxes)) {
    problem = cat("has rank ", value.rank(), "; oneDNN supports at most ", kMostAxes);
  } else if (!can_be_counted(value.dims())) {
    problem = cat("has shape ", value.dims(), "; oneDNN supports at most ", kMostElements, " elements");
  } else {
    return Support::yes();
  }
  return Support::no(TENON_REJECT_SHAPE, cat(node.op(), ": ", what, i, " ('", value.name(), "') ", problem));
}

Support ranks_suit(const NodeView& node) {
  Support out = Support::yes();
  for (int i = 0; out && i < node.input_count(); ++i) out = rank_suits(node, node.input(i), "input ", i);
  for (int i = 0; out && i < node.output_count(); ++i) out = rank_suits(node, node.output(i), "output ", i);
  return out;
}

/// Whether the node reads or writes floats. Nodes that only pass integers on are not worth their own part.
bool has_floats(const NodeView& node) {
  for (int i = 0; i < node.input_count(); ++i) {
    if (node.has_input(i) && kFloat32.contains(node.input(i).dtype())) return true;
  }
  for (int i = 0; i < node.output_count(); ++i) {
    if (node.has_output(i) && kFloat32.contains(node.output(i).dtype())) return true;
  }
  return false;
}

Dims dims_of(const ep::GraphView& graph, uint32_t value) {
  if (value == TENON_NO_INDEX) return {};
  const tenon_value_info info = graph.value(value);
  return info.rank <= 0 ? Dims() : Dims(info.dims, info.dims + info.rank);
}

std::vector<Dims> all_dims(const ep::GraphView& graph, const uint32_t* values, uint32_t count) {
  std::vector<Dims> out;
  for (uint32_t i = 0; i < count; ++i) out.push_back(dims_of(graph, values[i]));
  return out;
}

/// Estimates the benefit of a set of nodes of one graph.
class Scales {
 public:
  Scales(const ep::GraphView& graph, bool bf16)
      : graph_(graph), bf16_(bf16), work_(graph.info().node_count, Work::kNone) {}
  void set(uint32_t node, Work work) { work_[node] = work; }

  Benefit of(const std::vector<uint32_t>& nodes) const {
    Benefit out;
    double border = 0;
    for (const uint32_t n : nodes) {
      const tenon_node_info node = graph_.node(n);
      border += border_of(nodes, node);
      if (is_taken_in(nodes, n, node)) continue;
      const Benefit one = benefit_of(work_[n], all_dims(graph_, node.inputs, node.input_count),
                                     all_dims(graph_, node.outputs, node.output_count), bf16_);
      out.work += one.work;
      out.calls += one.calls;
    }
    out.calls += benefit_of_border(border).calls;
    return out;
  }

 private:
  static bool contains(const std::vector<uint32_t>& nodes, uint32_t node) {
    return std::binary_search(nodes.begin(), nodes.end(), node);
  }
  /// Whether the primitive that makes an input of this node can also do the node's work.
  bool is_taken_in(const std::vector<uint32_t>& nodes, uint32_t n, const tenon_node_info& node) const {
    if (work_[n] != Work::kPointwise) return false;
    for (uint32_t i = 0; i < node.input_count; ++i) {
      if (node.inputs[i] == TENON_NO_INDEX) continue;
      const tenon_value_info value = graph_.value(node.inputs[i]);
      if (value.producer == TENON_NO_INDEX || value.consumer_count != 1 || !contains(nodes, value.producer))
        continue;
      const Work work = work_[value.producer];
      if (work == Work::kConvolution || work == Work::kTransposedConvolution || work == Work::kProduct)
        return true;
    }
    return false;
  }
  /// The number of elements that come from nodes outside. Elements that leave are counted by the nodes that
  /// read them, or are outputs of the graph.
  double border_of(const std::vector<uint32_t>& nodes, const tenon_node_info& node) const {
    double out = 0;
    for (uint32_t i = 0; i < node.input_count; ++i) {
      if (node.inputs[i] == TENON_NO_INDEX) continue;
      const tenon_value_info value = graph_.value(node.inputs[i]);
      if ((value.flags & TENON_VALUE_CONSTANT) != 0) continue;
      if (value.producer != TENON_NO_INDEX && contains(nodes, value.producer)) continue;
      double elements = 1;
      for (const int64_t d : dims_of(graph_, node.inputs[i]))
        elements *= static_cast<double>(std::max<int64_t>(d, 1));
      out += elements;
    }
    return out;
  }

  const ep::GraphView& graph_;
  const bool bf16_;
  std::vector<Work> work_;
};

/// Whether the node is the softmax of an attention with many keys: its scores are a product of two values, scaled and masked
/// perhaps.
bool weighs_many_keys(const ep::GraphView& graph, const NodeView& softmax) {
  if (softmax.op() != "Softmax") return false;
  // With fewer keys, the change of provider takes as long as is gained.
  constexpr int64_t kManyKeys = 100;
  const Dims scores = dims_of(graph, softmax.info().inputs[0]);
  if (scores.empty() || (scores.back() >= 0 && scores.back() < kManyKeys)) return false;
  uint32_t value = softmax.info().inputs[0];
  constexpr int kMostSteps = 3;
  for (int step = 0; step <= kMostSteps; ++step) {
    const uint32_t producer = graph.value(value).producer;
    if (producer == TENON_NO_INDEX) return false;
    const tenon_node_info node = graph.node(producer);
    const std::string_view op = ep::view(node.op_type);
    const auto is_constant = [&](uint32_t i) {
      return (graph.value(node.inputs[i]).flags & TENON_VALUE_CONSTANT) != 0;
    };
    if (op == "MatMul") return !is_constant(0) && !is_constant(1);
    if (op != "Add" && op != "Mul" && op != "Div") return false;
    value = node.inputs[is_constant(0) ? 1 : 0];
  }
  return false;
}

/// The last convolution; 0 if there is none.
uint32_t last_convolution(const ep::GraphView& graph) {
  for (uint32_t n = graph.info().node_count; n-- > 0;) {
    if (ep::view(graph.node(n).op_type) == "Conv") return n;
  }
  return 0;
}

/// In bfloat16 the cpu provider has attention that keeps no scores, but only where it finds all of it. Before further convolutions that
/// does not pay: all images that go past the attention would change their layout and type for it.
Support attention_is_faster_there() {
  return Support::no(TENON_REJECT_COST,
                     "in bfloat16 the cpu provider's attention is faster than products and a softmax of all "
                     "scores; to claim it anyway, "
                     "set provider.onednn.options.claim = \"all\"");
}

/// Formats nanoseconds for messages, as in "0.3 us".
std::string microseconds(double ns) {
  const auto tenths = static_cast<int64_t>(std::llround(ns / 100));
  return cat(tenths < 0 ? "-" : "", std::abs(tenths) / 10, ".", std::abs(tenths) % 10, " us");
}

Support too_little(size_t nodes, const Benefit& benefit) {
  return Support::no(
      TENON_REJECT_COST,
      cat("a part of ", nodes, nodes == 1 ? " node" : " nodes", " would save an estimated ",
          microseconds(benefit.work), " of work and lose ", microseconds(benefit.calls),
          " on its calls of the library; to claim it anyway, set provider.onednn.options.claim = \"all\""));
}

}  // namespace

void Instance::offer(const tenon_graph* raw, const tenon_claim_sink* sink) const {
  const Instance& instance = *this;
  const ep::GraphView graph(raw);
  std::vector<bool> can(graph.info().node_count, false), floats(can.size(), false);
  Scales scales(graph, instance.bf16);
  const bool leaves_attention = instance.bf16 && !instance.claims_all && !graph.is_weighed();
  const uint32_t convolution = leaves_attention ? last_convolution(graph) : 0;
  for (uint32_t n = 0; n < graph.info().node_count; ++n) {
    ep::ConstantStore store;
    const NodeView node(graph, n, store, instance.settings);
    if ((node.info().flags & TENON_NODE_TAKEN) != 0) continue;
    Support answer = Support::yes();
    if (const OperatorEntry* entry = find_operator(node, &answer); entry != nullptr) {
      answer = ranks_suit(node);
      scales.set(n, entry->spec.work);
    }
    if (answer && leaves_attention && n > convolution && weighs_many_keys(graph, node))
      answer = attention_is_faster_there();
    can[n] = static_cast<bool>(answer);
    floats[n] = has_floats(node);
    if (!can[n]) ep::reject_node(sink, n, answer);
  }
  for (const std::vector<uint32_t>& nodes : ep::convex_groups(graph, can)) {
    Support answer = Support::yes();
    if (std::none_of(nodes.begin(), nodes.end(), [&](uint32_t n) { return floats[n]; })) {
      answer = Support::no(TENON_REJECT_TYPE, "nodes of integers are claimed only beside nodes of float32");
    } else if (!instance.claims_all && !graph.is_weighed()) {
      const Benefit benefit = scales.of(nodes);
      if (benefit.total() <= 0) answer = too_little(nodes.size(), benefit);
    }
    if (answer) ep::claim_nodes(sink, nodes);
    for (const uint32_t n : nodes) {
      if (!answer) ep::reject_node(sink, n, answer);
    }
  }
}

}  // namespace tenon::onednn
