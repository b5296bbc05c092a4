// Access to the host's graph.
#pragma once

#include <vector>

#include "memory.h"

namespace accelerator {

class Graph {
 public:
  explicit Graph(const tenon_graph* graph) : graph_(graph) {
    info_.struct_size = sizeof(info_);
    check(host().graph_info(graph, &info_));
  }
  const tenon_graph_info& info() const { return info_; }
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
  bool find_attribute(uint32_t node, std::string_view name, tenon_attribute* out) const {
    return host().graph_find_attribute(graph_, node, to_str(name), out) == TENON_OK;
  }
  tenon_tensor constant(uint32_t value) const {
    tenon_tensor out{};
    check(host().graph_constant(graph_, value, &out));
    return out;
  }
  void consume(uint32_t value) const {
    if (host().graph_constant_consumed != nullptr) check(host().graph_constant_consumed(graph_, value));
  }
  /// The present inputs of a node and the captures of its nested graphs.
  std::vector<uint32_t> used_values(uint32_t node) const {
    std::vector<uint32_t> out;
    const tenon_node_info info = this->node(node);
    for (uint32_t i = 0; i < info.input_count; ++i) {
      if (info.inputs[i] != TENON_NO_INDEX) out.push_back(info.inputs[i]);
    }
    out.insert(out.end(), info.captures, info.captures + info.capture_count);
    return out;
  }

 private:
  static void check(tenon_status status) {
    require(status == TENON_OK, status, "the host failed to describe its graph");
  }

  const tenon_graph* graph_;
  tenon_graph_info info_{};
};

}  // namespace accelerator
