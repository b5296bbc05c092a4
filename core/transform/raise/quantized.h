// What the rules share that raise QuantizeLinear(operator(DequantizeLinear, ...)) to an operator on bytes. Internal to
// core/transform.
//
// Scales and zero points must be constants. Scales are finite float32 numbers above 0. Bytes are int8 or uint8.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/transform/raise/raise.h"

namespace tenon::transform {

/// A QuantizeLinear or DequantizeLinear: float = (integer - zero point) * scale.
struct Linear {
  ir::NodeId node = ir::kNone;
  ir::ValueId integers = ir::kNone;                    // the side that is not float
  ir::ElementType type = ir::ElementType::kUndefined;  // of the integers
  ir::ValueId scale = ir::kNone, zero = ir::kNone;     // zero: kNone where the node has none
  std::vector<double> scales;
  std::vector<int64_t> zeros;  // as many as scales
  int64_t axis = 1;            // where there are several scales

  bool is_single() const { return scales.size() == 1; }
  bool has_bytes() const { return type == ir::ElementType::kInt8 || type == ir::ElementType::kUInt8; }
};

/// The DequantizeLinear that gives `value` as float32; nothing when there is none, or none of this form.
std::optional<Linear> find_dequantized(const ir::Graph& graph, ir::ValueId value);
/// `node`, when it is a QuantizeLinear from float32 to bytes with one scale.
std::optional<Linear> find_quantized(const ir::Graph& graph, ir::NodeId node);

/// Whether there is one scale for each slice of the axis, of which the tensor has `count`, or one for all.
bool has_scales(const Linear& linear, size_t rank, size_t axis, int64_t count);
/// Whether both map the same bytes to the same floats, with one scale.
bool is_same(const Linear& a, const Linear& b);

/// The zero point of a node that reads bytes; a new constant where the node has none. raise() removes it when it fails.
ir::ValueId zero_point(ir::Graph& graph, const Linear& linear);

/// A new scalar that holds the byte for `number`; its name begins with `name`.
ir::ValueId quantized_constant(ir::Graph& graph, const std::string& name, const Linear& y, double number);

/// `value` without the Relu or Clip that makes it, where `y` gives the same bytes without that. The node is then added to
/// `nodes`.
ir::ValueId without_clamp(const ir::Graph& graph, ir::ValueId value, const Linear& y,
                          std::vector<ir::NodeId>* nodes);

/// Whether `bias` is what an operator adds to sums of products: int32 numbers, one for each of `count` channels, with the
/// zero point 0 and the scale `factor` times that of the channel's weights.
bool is_bias(const ir::Graph& graph, const Linear& bias, double factor, const Linear& weights, int64_t count);
/// Whether sums of `terms` products and the bias (kNone: none), a constant, fit into int32.
bool sums_fit(const ir::Graph& graph, const Linear& x, const Linear& weights, int64_t terms,
              ir::ValueId bias);

}  // namespace tenon::transform
