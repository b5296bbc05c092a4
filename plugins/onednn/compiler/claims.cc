#include "compiler/claims.h"

#include <algorithm>

#include "compiler/groups.h"
#include "compiler/operation.h"

namespace tenon::onednn {
namespace {

/// What holds for every operator: plans need to know at least the rank of what they compute.
Support ranks_known(const NodeView& node) {
  for (int i = 0; i < node.input_count(); ++i) {
    if (node.has_input(i) && !node.input(i).has_rank() && !node.input(i).is_constant()) {
      return Support::no(TENON_REJECT_SHAPE, cat(node.op(), ": the rank of input ", i, " ('",
                                                 node.input(i).name(), "') is not known"));
    }
  }
  for (int i = 0; i < node.output_count(); ++i) {
    if (node.has_output(i) && !node.output(i).has_rank()) {
      return Support::no(TENON_REJECT_SHAPE, cat(node.op(), ": the rank of output ", i, " ('",
                                                 node.output(i).name(), "') is not known"));
    }
  }
  return Support::yes();
}

/// Whether a number that the library computes with goes in or comes out. The other nodes rename integers, which is worth a
/// part of its own to nobody.
bool has_floats(const NodeView& node) {
  for (int i = 0; i < node.input_count(); ++i) {
    if (node.has_input(i) && kFloat32.contains(node.input(i).dtype())) return true;
  }
  for (int i = 0; i < node.output_count(); ++i) {
    if (node.has_output(i) && kFloat32.contains(node.output(i).dtype())) return true;
  }
  return false;
}

void reject(const tenon_claim_sink* sink, uint32_t node, const Support& refusal) {
  tenon_rejection rejection{};
  rejection.struct_size = sizeof(rejection);
  rejection.node = node;
  rejection.code = refusal.code();
  rejection.text = ep::to_str(refusal.text());
  ep::detail::call_host(sink->reject, sink->context, &std::as_const(rejection));
}

void claim(const tenon_claim_sink* sink, const std::vector<uint32_t>& nodes) {
  tenon_claim out{};
  out.struct_size = sizeof(out);
  out.nodes = nodes.data();
  out.node_count = static_cast<uint32_t>(nodes.size());
  ep::detail::call_host(sink->claim, sink->context, &std::as_const(out));
}

/// From the node that makes a value to those that use it.
std::vector<std::pair<uint32_t, uint32_t>> edges_of(const ep::GraphView& graph) {
  std::vector<std::pair<uint32_t, uint32_t>> out;
  for (uint32_t n = 0; n < graph.info().node_count; ++n) {
    const tenon_node_info node = graph.node(n);
    const auto add = [&](uint32_t value) {
      if (value == TENON_NO_INDEX) return;
      const uint32_t producer = graph.value(value).producer;
      if (producer != TENON_NO_INDEX) out.emplace_back(producer, n);
    };
    for (uint32_t i = 0; i < node.input_count; ++i) add(node.inputs[i]);
    for (uint32_t i = 0; i < node.capture_count; ++i) add(node.captures[i]);
  }
  return out;
}

}  // namespace

void offer(const Instance& instance, const tenon_graph* raw, const tenon_claim_sink* sink) {
  const ep::GraphView graph(raw);
  std::vector<bool> can(graph.info().node_count, false), floats(can.size(), false);
  for (uint32_t n = 0; n < graph.info().node_count; ++n) {
    ep::ConstantStore store;
    const NodeView node(graph, n, store, instance.context);
    if ((node.info().flags & TENON_NODE_TAKEN) != 0) continue;
    Support answer = Support::yes();
    if (find_operator(node, &answer) != nullptr) answer = ranks_known(node);
    can[n] = static_cast<bool>(answer);
    floats[n] = has_floats(node);
    if (!can[n]) reject(sink, n, answer);
  }
  for (const std::vector<uint32_t>& nodes : group(can, edges_of(graph))) {
    if (std::any_of(nodes.begin(), nodes.end(), [&](uint32_t n) { return floats[n]; })) {
      claim(sink, nodes);
      continue;
    }
    for (const uint32_t n : nodes)
      reject(sink, n, Support::no(TENON_REJECT_TYPE, "integers are taken only beside nodes of float32"));
  }
}

}  // namespace tenon::onednn
