#include "fuse.h"

#include <limits>

namespace tenon::opencl {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

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

Range fuse(const ep::NodeView& node, const ep::NodeView& follower) {
  const bool cuts = node.domain().empty() && (node.op() == "Conv" || node.op() == "Gemm");
  if (!cuts || node.output(0).dtype() != TENON_FLOAT32) return {};
  if (!follower.has_input(0) || follower.input(0).index() != node.output(0).index()) return {};
  return range_of(follower);
}

}  // namespace tenon::opencl
