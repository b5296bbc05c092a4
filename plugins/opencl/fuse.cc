#include "fuse.h"

#include <limits>

namespace tenon::opencl {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr uint32_t kSeveral = TENON_NO_INDEX - 1;

/// Reads a constant scalar, or `otherwise` if the input is missing. Returns false for any other input.
bool read(const ep::ValueView& value, float otherwise, float* out) {
  *out = otherwise;
  if (!value.present()) return true;
  if (!value.is_constant() || value.dtype() != TENON_FLOAT32) return false;
  const ep::TensorView tensor = value.constant();
  if (tensor.size() != 1) return false;
  *out = tensor.at<float>(0);
  return true;
}

Range range_of(const ep::NodeView& node) {
  if (!node.domain().empty()) return {};
  if (node.op() == "Relu") return {0, kInfinity};
  if (node.op() != "Clip") return {};
  Range out;
  if (node.since_version() < 11)
    return {node.attr_f("min", std::numeric_limits<float>::lowest()),
            node.attr_f("max", std::numeric_limits<float>::max())};
  if (!read(node.input(1), -kInfinity, &out.low) || !read(node.input(2), kInfinity, &out.high)) return {};
  return out.low < out.high ? out : Range{};
}

}  // namespace

Followers::Followers(const ep::GraphView& graph)
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

uint32_t Followers::of(const ep::NodeView& node) const {
  if (node.output_count() != 1 || !node.has_output(0)) return TENON_NO_INDEX;
  const uint32_t value = node.output(0).index(), next = by_value_[value];
  if ((graph_.value(value).flags & TENON_VALUE_OUTPUT) != 0 || next >= graph_.info().node_count)
    return TENON_NO_INDEX;
  return (graph_.node(next).flags & TENON_NODE_TAKEN) != 0 ? TENON_NO_INDEX : next;
}

Range fuse(const ep::NodeView& node, const ep::NodeView& follower) {
  const bool cuts = node.domain().empty() && (node.op() == "Conv" || node.op() == "Gemm");
  if (!cuts || node.output(0).dtype() != TENON_FLOAT32) return {};
  if (!follower.has_input(0) || follower.input(0).index() != node.output(0).index()) return {};
  return range_of(follower);
}

}  // namespace tenon::opencl
