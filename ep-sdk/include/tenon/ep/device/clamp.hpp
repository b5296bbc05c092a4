// Clamps that the node before them applies: a Relu or Clip after a Conv or Gemm. And how the kernel of that node learns of one.
#ifndef TENON_EP_DEVICE_CLAMP_HPP_
#define TENON_EP_DEVICE_CLAMP_HPP_

#include <limits>

#include "tenon/ep/graph.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// To [low, high]. NaN stays NaN. Equal limits: no clamp.
struct Clamp {
  float low = 0, high = 0;
  explicit operator bool() const { return low != high; }
};

namespace detail {

/// Reads a constant scalar, or `otherwise` if the input is missing. Returns false for any other input.
inline bool read_limit(const ValueView& value, float otherwise, float* out) {
  *out = otherwise;
  if (!value.present()) return true;
  if (!value.is_constant() || value.dtype() != TENON_FLOAT32) return false;
  const TensorView tensor = value.constant();
  if (tensor.size() != 1) return false;
  *out = tensor.at<float>(0);
  return true;
}

}  // namespace detail

/// The clamp that `node` does: a Relu, or a Clip with constant limits, of float32. Else, and if a limit is NaN or the lower one
/// is not below the other, no clamp. Pure.
inline Clamp clamp_in(const NodeView& node) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (!node.domain().empty() || !node.has_input(0) || node.input(0).dtype() != TENON_FLOAT32) return {};
  if (node.op() == "Relu") return {0, kInfinity};
  if (node.op() != "Clip") return {};
  Clamp out;
  if (node.since_version() < 11) {
    out = {node.attr_f("min", std::numeric_limits<float>::lowest()),
           node.attr_f("max", std::numeric_limits<float>::max())};
  } else if (!detail::read_limit(node.input(1), -kInfinity, &out.low) ||
             !detail::read_limit(node.input(2), kInfinity, &out.high)) {
    return {};
  }
  return out.low < out.high ? out : Clamp{};
}

/// The clamp in `follower`, if `node` is a Conv or Gemm that can apply it itself; else no clamp. Pure.
inline Clamp clamp_after(const NodeView& node, const NodeView& follower) {
  const bool clamps = node.domain().empty() && (node.op() == "Conv" || node.op() == "Gemm");
  if (!clamps || node.output(0).dtype() != TENON_FLOAT32) return {};
  if (!follower.has_input(0) || follower.input(0).index() != node.output(0).index()) return {};
  return clamp_in(follower);
}

/// The settings of the NodeView that a kernel's supports() and constructor get. `Instance`: the provider's class, derived from
/// InstanceSettings, which outlives this.
template <class Instance>
struct NodeSettings : InstanceSettings {
  explicit NodeSettings(const Instance& of)
      : InstanceSettings(static_cast<const InstanceSettings&>(of)), instance(of) {}
  /// Those of a node with such settings.
  static const NodeSettings& of(const NodeView& node) {
    return static_cast<const NodeSettings&>(node.instance());
  }

  const Instance& instance;
  Clamp clamp;  // the range to which the kernel must clamp its output
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_CLAMP_HPP_
