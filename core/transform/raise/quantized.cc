#include "core/transform/raise/quantized.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tenon::transform {

namespace {

using ir::ElementType;
using ir::kNone;
using ir::ValueId;

/// Elements of int8, uint8 and int32 tensors; nothing for other types.
std::optional<std::vector<int64_t>> to_integers(const ir::Tensor& tensor) {
  std::vector<int64_t> values;
  if (tensor.to_ints(&values)) return values;
  const bool is_signed = tensor.type() == ElementType::kInt8;
  if (!is_signed && tensor.type() != ElementType::kUInt8) return std::nullopt;
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    const auto byte = std::to_integer<uint8_t>(tensor.data()[i]);
    values.push_back(is_signed ? int64_t{static_cast<int8_t>(byte)} : int64_t{byte});
  }
  return values;
}

ElementType element(const ir::Graph& graph, ValueId value) {
  const ir::Type& type = graph.value(value).type;
  return type.is_tensor() ? type.element : ElementType::kUndefined;
}

/// Reads the scale and zero point; false when they are not of the form that quantized.h describes.
bool read_parameters(const ir::Graph& graph, const ir::Node& node, Linear* out) {
  // Float32 divides as the operators do; 0 is the default.
  const int64_t precision = node.int_or("precision", 0);
  const bool is_float32 = precision == 0 || precision == static_cast<int64_t>(ElementType::kFloat32);
  if (node.int_or("block_size", 0) != 0 || !is_float32 || !has_input(node, 1)) return false;
  out->axis = node.int_or("axis", 1);
  out->scale = node.inputs[1];
  const ir::TensorPtr scale = graph.value(out->scale).constant;
  if (scale == nullptr || scale->type() != ElementType::kFloat32 || scale->dims().size() > 1) return false;
  out->scales = *to_doubles(*scale);
  const bool sound =
      std::all_of(out->scales.begin(), out->scales.end(), [](double s) { return std::isfinite(s) && s > 0; });
  if (out->scales.empty() || !sound) return false;
  out->zeros.assign(out->scales.size(), 0);
  if (!has_input(node, 2)) return true;
  out->zero = node.inputs[2];
  const ir::TensorPtr zero = graph.value(out->zero).constant;
  if (zero == nullptr || zero->type() != out->type || zero->dims().size() > 1) return false;
  const auto zeros = to_integers(*zero);
  if (!zeros || zeros->size() != out->scales.size()) return false;
  out->zeros = *zeros;
  return true;
}

struct Range {
  int64_t low, high;
};
Range range_of(ElementType type) { return type == ElementType::kInt8 ? Range{-128, 127} : Range{0, 255}; }

/// The byte that QuantizeLinear gives for `number`, before it is limited to the range of the type.
double quantum(const Linear& y, double number) {
  const auto quotient = static_cast<float>(number) / static_cast<float>(y.scales[0]);
  return static_cast<double>(std::nearbyint(quotient)) + static_cast<double>(y.zeros[0]);
}

/// A bound of Clip; nothing when it is not known at load. `fallback` where the node has none.
std::optional<double> bound_of(const ir::Graph& graph, const ir::Node& clip, std::string_view name,
                               size_t input, double fallback) {
  if (const ir::Attribute* given = clip.find(name)) return static_cast<double>(given->f);
  if (!has_input(clip, input)) return fallback;
  return number_of(graph, clip.inputs[input], clip.inputs[0]);
}

/// Whether `y` gives the same bytes without the node.
bool is_implied(const ir::Graph& graph, const ir::Node& node, const Linear& y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Range range = range_of(y.type);
  if (node.is("Relu")) return y.zeros[0] == range.low;
  const auto low = bound_of(graph, node, "min", 1, -kInfinity),
             high = bound_of(graph, node, "max", 2, kInfinity);
  return low && high && *low <= *high && quantum(y, *low) <= static_cast<double>(range.low) &&
         quantum(y, *high) >= static_cast<double>(range.high);
}

/// The largest distance of an integer of the type from a zero point.
int64_t reach(const Linear& linear) {
  const Range range = range_of(linear.type);
  int64_t most = 0;
  for (const int64_t zero : linear.zeros) most = std::max({most, zero - range.low, range.high - zero});
  return most;
}

}  // namespace

std::optional<Linear> find_dequantized(const ir::Graph& graph, ValueId value) {
  if (value == kNone || element(graph, value) != ElementType::kFloat32) return std::nullopt;
  const ir::NodeId id = graph.value(value).producer;
  if (id == kNone || !graph.node(id).is("DequantizeLinear")) return std::nullopt;
  const ir::Node& node = graph.node(id);
  Linear out;
  out.node = id;
  out.integers = node.inputs[0];
  out.type = element(graph, out.integers);
  if (!out.has_bytes() && out.type != ElementType::kInt32) return std::nullopt;
  return read_parameters(graph, node, &out) ? std::optional(out) : std::nullopt;
}

std::optional<Linear> find_quantized(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (!node.is("QuantizeLinear") || node.outputs.empty() || node.outputs[0] == kNone) return std::nullopt;
  if (element(graph, node.inputs[0]) != ElementType::kFloat32) return std::nullopt;
  Linear out;
  out.node = id;
  out.integers = node.outputs[0];
  out.type = element(graph, out.integers);
  if (!out.has_bytes() || !read_parameters(graph, node, &out) || !out.is_single()) return std::nullopt;
  return out;
}

bool has_scales(const Linear& linear, size_t rank, size_t axis, int64_t count) {
  if (linear.is_single()) return true;
  const auto axes = static_cast<int64_t>(rank);
  const int64_t along = linear.axis < 0 ? linear.axis + axes : linear.axis;
  return along == static_cast<int64_t>(axis) && static_cast<int64_t>(linear.scales.size()) == count;
}

bool is_same(const Linear& a, const Linear& b) {
  return a.type == b.type && a.is_single() && a.scales == b.scales && a.zeros == b.zeros;
}

ValueId zero_point(ir::Graph& graph, const Linear& linear) {
  if (linear.zero != kNone) return linear.zero;
  const std::vector<int64_t>& dims = graph.value(linear.scale).constant->dims();
  std::vector<std::byte> zeros(linear.scales.size());
  const std::string name = str_cat(graph.node(linear.node).name, "/zero_point");
  return graph.add_constant(name, *ir::Tensor::make(linear.type, dims, std::move(zeros)));
}

ValueId quantized_constant(ir::Graph& graph, const std::string& name, const Linear& y, double number) {
  const Range range = range_of(y.type);
  const double byte =
      std::clamp(quantum(y, number), static_cast<double>(range.low), static_cast<double>(range.high));
  std::vector<std::byte> bytes = {static_cast<std::byte>(static_cast<int>(byte))};
  return graph.add_constant(str_cat(name, "/constant"), *ir::Tensor::make(y.type, {}, std::move(bytes)));
}

ValueId without_clamp(const ir::Graph& graph, ValueId value, const Linear& y,
                      std::vector<ir::NodeId>* nodes) {
  const ir::NodeId id = graph.value(value).producer;
  if (id == kNone) return value;
  const ir::Node& node = graph.node(id);
  if ((!node.is("Relu") && !node.is("Clip")) || !is_implied(graph, node, y)) return value;
  nodes->push_back(id);
  return node.inputs[0];
}

bool is_bias(const ir::Graph& graph, const Linear& bias, double factor, const Linear& weights,
             int64_t count) {
  const ir::TensorPtr numbers = graph.value(bias.integers).constant;
  if (numbers == nullptr || numbers->type() != ElementType::kInt32) return false;
  if (numbers->dims() != std::vector<int64_t>{count} || !has_scales(bias, 1, 0, count)) return false;
  if (std::any_of(bias.zeros.begin(), bias.zeros.end(), [](int64_t zero) { return zero != 0; })) return false;
  const auto of = [](const std::vector<double>& list, int64_t i) {
    return list[list.size() == 1 ? 0 : static_cast<size_t>(i)];
  };
  for (int64_t i = 0; i < count; ++i) {
    if (!is_number(ElementType::kFloat32, of(bias.scales, i), factor * of(weights.scales, i))) return false;
  }
  return true;
}

bool sums_fit(const ir::Graph& graph, const Linear& x, const Linear& weights, int64_t terms, ValueId bias) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  int64_t most = 0;
  if (bias != kNone) {
    const auto numbers = to_integers(*graph.value(bias).constant);
    if (!numbers) return false;
    for (const int64_t number : *numbers) most = std::max(most, std::abs(number));
  }
  const int64_t product = reach(x) * reach(weights);
  return terms <= kMost / product && terms * product <= kMost - most;
}

}  // namespace tenon::transform
