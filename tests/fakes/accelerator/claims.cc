// What the fake claims: groups of nodes that its options allow.
#include <vector>

#include "device.h"
#include "graph.h"
#include "ops.h"
#include "tenon/ep/groups.hpp"

namespace accelerator {
namespace {

struct Verdict {
  uint32_t code = TENON_REJECT_OTHER;
  std::string text;  // empty if the node can run
};

std::string op_name(const tenon_node_info& node) { return std::string(view(node.op_type)); }

bool listed(const std::string& list, std::string_view name) {
  const std::string padded = "," + list + ",";
  return list.empty() || padded.find("," + std::string(name) + ",") != std::string::npos;
}

Verdict judge_value(const Graph& graph, const tenon_node_info& node, uint32_t value,
                    const std::string& place) {
  const tenon_value_info info = graph.value(value);
  if (info.kind != TENON_KIND_TENSOR || info.dtype != TENON_FLOAT32) {
    return {TENON_REJECT_TYPE, op_name(node) + ": element type number " + std::to_string(info.dtype) +
                                   " of " + place + " is not supported, only float32"};
  }
  if (op_name(node) == "Concat" && info.rank < 1) {
    return {TENON_REJECT_SHAPE, "Concat: " + place + " needs a known rank"};
  }
  if (op_name(node) == "MatMul" && info.rank < 2) {
    return {TENON_REJECT_SHAPE, "MatMul: " + place + " needs a known rank of at least 2"};
  }
  return {};
}

Verdict judge(const Graph& graph, const FakeOptions& options, uint32_t index) {
  const tenon_node_info node = graph.node(index);
  const auto kind = op_from_name(view(node.op_type));
  if (!kind || node.domain.size != 0 || !listed(options.ops, view(node.op_type))) {
    return {TENON_REJECT_OPERATOR, "operator " + op_name(node) + " is not implemented"};
  }
  tenon_attribute allow_zero{};
  allow_zero.struct_size = sizeof(allow_zero);
  if (*kind == OpKind::kReshape && graph.find_attribute(index, "allowzero", &allow_zero) &&
      allow_zero.i != 0) {
    return {TENON_REJECT_ATTRIBUTE, "Reshape: allowzero = 1 is not supported"};
  }
  if (*kind == OpKind::kConcat && node.input_count != 2) {
    return {TENON_REJECT_OTHER, "Concat: only of two tensors"};
  }
  for (uint32_t i = 0; i < data_inputs(*kind); ++i) {
    Verdict verdict = judge_value(graph, node, node.inputs[i], "input " + std::to_string(i));
    if (!verdict.text.empty()) return verdict;
  }
  return judge_value(graph, node, node.outputs[0], "the output");
}

void emit(const FakeOptions& options, const Graph& graph, const std::vector<uint32_t>& nodes,
          const tenon_claim_sink* sink) {
  std::vector<tenon_claim_value> values;
  for (const uint32_t n : nodes) {
    const tenon_node_info node = graph.node(n);
    if (view(node.op_type) != "Reshape") continue;
    if ((graph.value(node.inputs[1]).flags & TENON_VALUE_CONSTANT) != 0) continue;
    values.push_back({node.inputs[1], TENON_CLAIM_SHAPE_INPUT, 0, 0});
  }
  tenon_claim claim{};
  claim.struct_size = sizeof(claim);
  claim.flags = options.static_claims ? TENON_CLAIM_STATIC : 0;
  claim.nodes = nodes.data();
  claim.node_count = static_cast<uint32_t>(nodes.size());
  claim.values = values.data();
  claim.value_count = static_cast<uint32_t>(values.size());
  claim.input_domain = claim.output_domain = kDeviceDomain;
  claim.tag = 0xACC0000 + nodes.size();
  claim.cost.launch_ns = 1000;
  require(sink->claim(sink->context, &claim, nullptr) == TENON_OK, TENON_INTERNAL,
          "the host refused a claim");
}

}  // namespace

void Instance::offer(const tenon_graph* raw, const tenon_claim_sink* sink) {
  maybe_fail("capability");
  const Graph graph(raw);
  const uint32_t count = graph.info().node_count;
  std::vector<bool> can(count, false);
  for (uint32_t n = 0; n < count; ++n) {
    const tenon_node_info node = graph.node(n);
    if ((node.flags & TENON_NODE_TAKEN) != 0) continue;
    const Verdict verdict = judge(graph, options, n);
    can[n] = verdict.text.empty();
    if (can[n]) continue;
    const tenon_rejection rejection{sizeof(tenon_rejection), n, verdict.code, 0, to_str(verdict.text)};
    sink->reject(sink->context, &rejection, nullptr);
  }
  for (const std::vector<uint32_t>& nodes : convex_groups(graph, can, static_cast<size_t>(options.max_nodes)))
    emit(options, graph, nodes, sink);
}

}  // namespace accelerator
