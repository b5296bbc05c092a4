#include "loops.h"

#include <algorithm>

#include "tenon/ep/device/walk.hpp"

namespace tenon::vulkan {
namespace {

using ep::NodeView;
using ep::ValueView;
using Steps = std::optional<int64_t>;

/// The steps per element of a kernel that goes over its elements three times, and of one that also computes their places.
constexpr int64_t kPasses = 3, kPassesWithPlaces = 12;

/// Large enough for any limit, small enough to be multiplied.
constexpr int64_t kMost = int64_t{1} << 40;

int64_t times(int64_t a, int64_t b) {
  return std::min(kMost, std::min(a, kMost) * std::min(b, int64_t{1} << 20));
}

/// The product of the dims from `begin` to `end`.
Steps count(const ValueView& value, int begin, int end) {
  if (!value.has_rank()) return std::nullopt;
  int64_t out = 1;
  for (int d = begin; d < end; ++d) {
    if (value.dim(d) < 0) return std::nullopt;
    out = std::min(kMost, out * std::min(value.dim(d), int64_t{1} << 20));
  }
  return out;
}
Steps all(const ValueView& value) { return count(value, 0, value.has_rank() ? value.rank() : 0); }

/// The dim of an axis that counts from either end.
Steps along(const ValueView& value, int64_t axis) {
  if (!value.has_rank()) return std::nullopt;
  if (axis < 0) axis += value.rank();
  if (axis < 0 || axis >= value.rank()) return 0;  // an error elsewhere
  return count(value, static_cast<int>(axis), static_cast<int>(axis) + 1);
}
/// All dims from an axis on.
Steps from(const ValueView& value, int64_t axis) {
  if (!value.has_rank()) return std::nullopt;
  if (axis < 0) axis += value.rank();
  if (axis < 0 || axis > value.rank()) return 0;
  return count(value, static_cast<int>(axis), value.rank());
}

Steps reduced(const NodeView& n) {
  const ValueView x = n.input(0);
  std::vector<int64_t> axes = n.attr_ints("axes");
  if (n.has_input(1)) {
    if (!n.input(1).is_constant()) return all(x);
    axes = n.input(1).constant().to_dims();
  }
  if (axes.empty()) return all(x);
  int64_t out = 1;
  for (const int64_t axis : axes) {
    const Steps dim = along(x, axis);
    if (!dim) return std::nullopt;
    out = times(out, *dim);
  }
  return out;
}

Steps taps(const NodeView& n) {
  int64_t out = 1;
  for (const int64_t size : n.attr_ints("kernel_shape")) out = times(out, std::max<int64_t>(size, 0));
  return out;
}

Steps scaled(Steps steps, int64_t factor) {
  if (steps) *steps = times(*steps, factor);
  return steps;
}

}  // namespace

std::optional<int64_t> loop_steps(const NodeView& n) {
  const std::string_view op = n.op();
  const ValueView x = n.input(0);
  if (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax") {
    if (n.since_version() < 13) return scaled(from(x, n.attr_i("axis", 1)), kPasses);
    return scaled(along(x, n.attr_i("axis", -1)), kPasses);
  }
  if (op == "CumSum") return all(x);
  if (op.starts_with("Reduce")) return scaled(reduced(n), kPassesWithPlaces);
  if (op == "ArgMax" || op == "ArgMin") return along(x, n.attr_i("axis", 0));
  if (op.starts_with("Scatter")) return scaled(all(n.input(1)), kPasses);
  if (op == "MaxPool" || op == "AveragePool" || op == "LpPool") return scaled(taps(n), kPasses);
  if (op.starts_with("Global")) return from(x, 2);
  if (op == "LayerNormalization" || op == "RMSNormalization")
    return scaled(from(x, n.attr_i("axis", -1)), kPassesWithPlaces);
  if (op == "InstanceNormalization") return scaled(from(x, 2), kPasses);
  if (op == "GroupNormalization") return scaled(from(x, 1), kPasses);
  if (op == "LpNormalization") return scaled(along(x, n.attr_i("axis", -1)), kPasses);
  if (op == "LRN") return n.attr_i("size", 0);
  if (op == "MatMul") return along(x, -1);
  if (op == "Gemm") return along(x, n.attr_i("transA", 0) != 0 ? 0 : 1);
  if (op == "Conv") return scaled(from(n.input(1), 1), kPasses);
  if (op == "Mod" || op == "Pow") return 1000;
  return 0;
}

}  // namespace tenon::vulkan
