#include "loops.h"

#include <algorithm>

#include "tenon/ep/device/walk.hpp"

namespace tenon::vulkan {
namespace {

using ep::Dims;
using ep::NodeView;
using Steps = std::optional<int64_t>;

/// The steps per element of a kernel that goes over its elements three times, and of one that also computes their places.
constexpr int64_t kPasses = 3, kPassesWithPlaces = 12;

/// Large enough for any limit, small enough to be multiplied.
constexpr int64_t kMost = int64_t{1} << 40;

Steps times(Steps a, Steps b) {
  if (!a || !b) return std::nullopt;
  return std::min(kMost, std::min(*a, kMost) * std::min(*b, int64_t{1} << 20));
}

/// The product of the dims from `begin` to `end`.
Steps count(const Dims& dims, size_t begin, size_t end) {
  Steps out = 1;
  for (size_t d = begin; d < end; ++d) out = times(out, dims[d] < 0 ? Steps() : dims[d]);
  return out;
}
Steps all(const std::optional<Dims>& dims) { return dims ? count(*dims, 0, dims->size()) : std::nullopt; }
/// The dim of an axis that counts from either end.
Steps along(const std::optional<Dims>& dims, int64_t axis) {
  if (!dims) return std::nullopt;
  const auto rank = static_cast<int64_t>(dims->size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return 0;  // an error elsewhere
  return count(*dims, static_cast<size_t>(axis), static_cast<size_t>(axis) + 1);
}
/// All dims from an axis on.
Steps from(const std::optional<Dims>& dims, int64_t axis) {
  if (!dims) return std::nullopt;
  const auto rank = static_cast<int64_t>(dims->size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return 0;
  return count(*dims, static_cast<size_t>(axis), dims->size());
}

LoopSteps constant(int64_t steps) {
  return [steps](const ShapeOf&) { return Steps(steps); };
}
LoopSteps over_axis(int64_t axis, int64_t factor) {
  return [=](const ShapeOf& shape) { return times(along(shape(0), axis), factor); };
}
LoopSteps over_all_from(int64_t axis, int64_t factor, int input = 0) {
  return [=](const ShapeOf& shape) { return times(from(shape(input), axis), factor); };
}
LoopSteps over_input(int input, int64_t factor) {
  return [=](const ShapeOf& shape) { return times(all(shape(input)), factor); };
}

LoopSteps of_reduction(const NodeView& n) {
  std::vector<int64_t> axes = n.attr_ints("axes");
  if (n.has_input(1) && n.input(1).is_constant()) axes = n.input(1).constant().to_dims();
  if (axes.empty()) return over_input(0, kPassesWithPlaces);  // also if they are known in the Run only
  return [axes](const ShapeOf& shape) {
    Steps out = kPassesWithPlaces;
    for (const int64_t axis : axes) out = times(out, along(shape(0), axis));
    return out;
  };
}

int64_t taps(const NodeView& n) {
  Steps out = kPasses;
  for (const int64_t size : n.attr_ints("kernel_shape")) out = times(out, std::max<int64_t>(size, 0));
  return *out;
}

/// Keys times the steps of a product with a query, in blocks of 16 (shaders/attention.comp).
LoopSteps of_attention(const NodeView& n) {
  const int64_t heads = std::max<int64_t>(1, n.attr_i("q_num_heads", 1));
  const bool has_past = n.has_input(4);
  return [=](const ShapeOf& shape) {
    const std::optional<Dims> q = shape(0), k = shape(1);
    if (!q || !k) return Steps();
    const bool heads_inside = q->size() == 3;
    const Steps width = along(q, -1), fresh = along(k, heads_inside ? 1 : 2);
    const Steps past = has_past ? along(shape(4), 2) : Steps(0);
    if (!width || !fresh || !past) return Steps();
    const int64_t size = heads_inside ? *width / heads : *width;
    return times(std::min(*fresh, kMost) + std::min(*past, kMost), size / 16 + size % 16 + 3);
  };
}

/// The words of a column, and for each block its turn and the ends of two loops (shaders/matmul_nbits.comp).
LoopSteps of_matmul_nbits(const NodeView& n) {
  const int64_t depth = n.attr_i("K", 0), bits = n.attr_i("bits", 4);
  const int64_t blocks = depth / std::max<int64_t>(1, n.attr_i("block_size", 0)) + 1;
  return constant(depth * bits / 32 + 3 * blocks + 16);
}

}  // namespace

LoopSteps loop_steps_of(const NodeView& n) {
  const std::string_view op = n.op();
  if (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax") {
    if (n.since_version() < 13) return over_all_from(n.attr_i("axis", 1), kPasses);
    return over_axis(n.attr_i("axis", -1), kPasses);
  }
  if (op == "CumSum") return over_input(0, 1);
  if (op.starts_with("Reduce")) return of_reduction(n);
  if (op == "ArgMax" || op == "ArgMin") return over_axis(n.attr_i("axis", 0), 1);
  if (op.starts_with("Scatter")) return over_input(1, kPasses);
  if (op == "MaxPool" || op == "AveragePool" || op == "LpPool") return constant(taps(n));
  if (op.starts_with("Global")) return over_all_from(2, 1);
  if (op == "LayerNormalization" || op == "RMSNormalization")
    return over_all_from(n.attr_i("axis", -1), kPassesWithPlaces);
  if (op == "InstanceNormalization") return over_all_from(2, kPasses);
  if (op == "GroupNormalization") return over_all_from(1, kPasses);
  if (op == "LpNormalization") return over_axis(n.attr_i("axis", -1), kPasses);
  if (op == "LRN") return constant(n.attr_i("size", 0));
  if (op == "MatMul") return over_axis(-1, 1);
  if (op == "Gemm") return over_axis(n.attr_i("transA", 0) != 0 ? 0 : 1, 1);
  if (op == "Conv") return over_all_from(1, kPasses, 1);
  if (op == "ConvTranspose") {
    return [](const ShapeOf& shape) { return times(times(from(shape(1), 2), along(shape(0), 1)), kPasses); };
  }
  if (op == "Attention") return of_attention(n);
  if (op == "MatMulNBits") return of_matmul_nbits(n);
  if (op == "TopK") return constant(1100);                        // 31 searches among 2^31 elements
  if (op == "Resize" || op == "Upsample") return constant(4000);  // corners of a cube of eight axes
  if (op == "Mod" || op == "Pow") return constant(1000);
  return constant(0);
}

ShapeOf known_shapes(const NodeView& n) {
  return [&n](int input) -> std::optional<Dims> {
    const ep::ValueView value = n.input(input);
    if (!value.has_rank()) return std::nullopt;
    return Dims(value.dims().begin(), value.dims().end());
  };
}

}  // namespace tenon::vulkan
