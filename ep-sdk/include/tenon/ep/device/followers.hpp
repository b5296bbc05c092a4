// Finds pairs of nodes that are claimed together: a node, and the only user of its output.
#ifndef TENON_EP_DEVICE_FOLLOWERS_HPP_
#define TENON_EP_DEVICE_FOLLOWERS_HPP_

#include <vector>

#include "tenon/ep/graph.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// For each node, the node that uses its output, if that is the only use. Keeps a reference to the graph.
class Followers {
 public:
  explicit Followers(const GraphView& graph)
      : graph_(graph), by_value_(graph.info().value_count, TENON_NO_INDEX) {
    const auto use = [&](uint32_t value, uint32_t node) {
      if (value == TENON_NO_INDEX) return;
      by_value_[value] = by_value_[value] == TENON_NO_INDEX ? node : kSeveral;
    };
    for (uint32_t n = 0; n < graph.info().node_count; ++n) {
      const tenon_node_info info = graph.node(n);
      for (uint32_t i = 0; i < info.input_count; ++i) use(info.inputs[i], n);
      for (uint32_t i = 0; i < info.capture_count; ++i) use(info.captures[i], kSeveral);
    }
  }
  /// TENON_NO_INDEX if there is none or it is already taken.
  uint32_t of(const NodeView& node) const {
    if (node.output_count() != 1 || !node.has_output(0)) return TENON_NO_INDEX;
    const uint32_t value = node.output(0).index(), next = by_value_[value];
    if ((graph_.value(value).flags & TENON_VALUE_OUTPUT) != 0 || next >= graph_.info().node_count)
      return TENON_NO_INDEX;
    return (graph_.node(next).flags & TENON_NODE_TAKEN) != 0 ? TENON_NO_INDEX : next;
  }

 private:
  static constexpr uint32_t kSeveral = TENON_NO_INDEX - 1;

  const GraphView& graph_;
  std::vector<uint32_t> by_value_;
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_FOLLOWERS_HPP_
