// What the fake claims: groups of nodes that its options allow.
#include <algorithm>
#include <numeric>
#include <vector>

#include "device.h"
#include "graph.h"
#include "ops.h"

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
  for (uint32_t i = 0; i < data_inputs(*kind); ++i) {
    Verdict verdict = judge_value(graph, node, node.inputs[i], "input " + std::to_string(i));
    if (!verdict.text.empty()) return verdict;
  }
  return judge_value(graph, node, node.outputs[0], "the output");
}

/// Groups of nodes. With each group contracted to one node, the graph has no cycle.
class Grouping {
 public:
  explicit Grouping(const Graph& graph) : group_(graph.info().node_count) {
    std::iota(group_.begin(), group_.end(), 0u);
    for (uint32_t n = 0; n < graph.info().node_count; ++n) {
      for (const uint32_t value : graph.used_values(n)) {
        const uint32_t producer = graph.value(value).producer;
        if (producer != TENON_NO_INDEX) edges_.emplace_back(producer, n);
      }
    }
  }
  uint32_t of(uint32_t node) const { return group_[node]; }
  size_t size(uint32_t group) const {
    return static_cast<size_t>(std::count(group_.begin(), group_.end(), group));
  }

  /// Merges two groups if that makes no cycle.
  void try_merge(uint32_t a, uint32_t b) {
    if (a == b) return;
    const std::vector<uint32_t> before = group_;
    std::replace(group_.begin(), group_.end(), b, a);
    if (has_cycle()) group_ = before;
  }

 private:
  bool has_cycle() const {
    std::vector<std::vector<uint32_t>> next(group_.size());
    std::vector<uint32_t> waits(group_.size(), 0), ready;
    for (const auto& edge : edges_) {
      const uint32_t from = group_[edge.first], to = group_[edge.second];
      if (from == to) continue;
      next[from].push_back(to);
      ++waits[to];
    }
    for (uint32_t g = 0; g < group_.size(); ++g) {
      if (waits[g] == 0) ready.push_back(g);
    }
    size_t seen = 0;
    for (; seen < ready.size(); ++seen) {
      for (const uint32_t to : next[ready[seen]]) {
        if (--waits[to] == 0) ready.push_back(to);
      }
    }
    return seen != group_.size();
  }

  std::vector<uint32_t> group_;
  std::vector<std::pair<uint32_t, uint32_t>> edges_;
};

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
  Grouping groups(graph);
  std::vector<bool> can(count, false);
  for (uint32_t n = 0; n < count; ++n) {
    const tenon_node_info node = graph.node(n);
    if ((node.flags & TENON_NODE_TAKEN) != 0) continue;
    const Verdict verdict = judge(graph, options, n);
    can[n] = verdict.text.empty();
    if (!can[n]) {
      tenon_rejection rejection{sizeof(tenon_rejection), n, verdict.code, 0, to_str(verdict.text)};
      sink->reject(sink->context, &rejection, nullptr);
      continue;
    }
    for (const uint32_t value : graph.used_values(n)) {
      const uint32_t producer = graph.value(value).producer;
      if (producer == TENON_NO_INDEX || !can[producer]) continue;
      const size_t together = groups.size(groups.of(n)) + groups.size(groups.of(producer));
      if (options.max_nodes != 0 && together > static_cast<size_t>(options.max_nodes)) continue;
      groups.try_merge(groups.of(producer), groups.of(n));
    }
  }
  for (uint32_t group = 0; group < count; ++group) {
    std::vector<uint32_t> nodes;
    for (uint32_t n = 0; n < count; ++n) {
      if (can[n] && groups.of(n) == group) nodes.push_back(n);
    }
    if (!nodes.empty()) emit(options, graph, nodes, sink);
  }
}

}  // namespace accelerator
