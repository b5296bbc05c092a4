// What the fake needs of the host's graph beside GraphView.
#pragma once

#include <vector>

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
    require(status == TENON_OK, status, "the host failed to give a constant");
  }
};

}  // namespace accelerator
