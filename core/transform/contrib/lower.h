// Lowerings of fused operators, by name. Internal to core/transform.
//
// Lowerings use a late opset of ai.onnx, whatever the model imports, because nodes carry their own versions. So
// they can use the standard's normalisations and activations. Providers support those, or their function bodies are
// inlined.
#pragma once

#include "core/transform/edit.h"

namespace tenon::transform {

inline constexpr int64_t kLoweringOpset = 24;

/// A node being lowered.
struct Site {
  Emitter& emit;
  const ir::Node& node;

  /// kNone when missing.
  ir::ValueId in(size_t index) const { return has_input(node, index) ? node.inputs[index] : ir::kNone; }
  bool has(size_t index) const { return has_input(node, index); }
  /// Unknown for a missing value; after a failure of the emitter all new values are missing.
  const ir::Type& type(ir::ValueId value) const { return emit.type(value); }
  ir::ElementType element(size_t index) const { return type(in(index)).element; }
  /// -1 when not known.
  int rank(size_t index) const { return input_rank(emit.graph(), node, index); }
  /// The number of a dimension; -1 when not known.
  int64_t dim(size_t index, size_t axis) const;
  ir::TensorPtr constant(size_t index) const { return constant_input(emit.graph(), node, index); }
  double number(std::string_view attribute, double fallback) const;
  std::string text(std::string_view attribute, std::string_view fallback) const;
  /// Whether this output is used.
  bool wants(size_t output) const;
  /// The node's attributes with these names.
  std::vector<ir::Attribute> attributes(std::initializer_list<std::string_view> names) const;
};

/// Values for the node's outputs; kNone for outputs that are not used.
using Lowered = Result<std::vector<ir::ValueId>>;
using Lowering = Lowered (*)(Site& site);

inline Lowered one(ir::ValueId value) { return std::vector<ir::ValueId>{value}; }

/// `x`, cast to float32 when it has a smaller floating type, because sums of squares need the precision.
ir::ValueId widened(Site& site, ir::ValueId x);
/// Applies an activation by its name in FusedConv and FusedGemm. UNSUPPORTED for other names.
Result<ir::ValueId> activated(Site& site, ir::ValueId x, const std::string& name,
                              const std::vector<double>& parameters);

/// The product of integers `a` and `b` times `scale`, plus a bias; kNone for zero points or a bias that are not there.
ir::ValueId scaled_product(Site& site, ir::ValueId a, ir::ValueId a_zero, ir::ValueId b, ir::ValueId b_zero,
                           ir::ValueId scale, ir::ValueId bias);
/// `x`, dequantised with the scale and zero point of these inputs, of which the last may be missing.
ir::ValueId dequantized(Site& site, ir::ValueId x, size_t scale, size_t zero_point);

struct NamedLowering {
  std::string_view domain, name;
  Lowering lower;
};

// One table per file.
const std::vector<NamedLowering>& activation_lowerings();
const std::vector<NamedLowering>& normalization_lowerings();
const std::vector<NamedLowering>& matrix_lowerings();
const std::vector<NamedLowering>& attention_lowerings();
const std::vector<NamedLowering>& quantized_lowerings();
const std::vector<NamedLowering>& dropped_lowerings();

inline constexpr std::string_view kMicrosoft = "com.microsoft";

}  // namespace tenon::transform
