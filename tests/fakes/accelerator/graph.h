// What the fake needs of the host's graph beside GraphView.
#pragma once

#include "memory.h"

namespace accelerator {

class Graph : public GraphView {
 public:
  using GraphView::GraphView;

  bool find_attribute(uint32_t node, std::string_view name, tenon_attribute* out) const {
    return host().graph_find_attribute(raw(), node, to_str(name), out) == TENON_OK;
  }
  tenon_tensor constant(uint32_t value) const {
    tenon_tensor out{};
    check(host().graph_constant(raw(), value, &out));
    return out;
  }
  void consume(uint32_t value) const {
    if (host().graph_constant_consumed != nullptr) check(host().graph_constant_consumed(raw(), value));
  }

 private:
  static void check(tenon_status status) {
    require(status == TENON_OK, status, "the host failed to give a constant");
  }
};

/// From 0. The rank of the first input is known.
inline int64_t concat_axis(const Graph& graph, uint32_t node) {
  tenon_attribute axis{};
  axis.struct_size = sizeof(axis);
  require(graph.find_attribute(node, "axis", &axis), TENON_INVALID_ARGUMENT, "Concat has no axis");
  const int32_t rank = graph.value(graph.node(node).inputs[0]).rank;
  return axis.i < 0 ? axis.i + rank : axis.i;
}

}  // namespace accelerator
