// Layer normalisations with fused operators: a sum before, embeddings.
#include "core/transform/contrib/lower.h"

namespace tenon::transform {

namespace {

using ir::Attribute;
using ir::ValueId;

std::vector<Attribute> options(int64_t axis, double epsilon) {
  return {Attribute::of_int("axis", axis), Attribute::of_float("epsilon", static_cast<float>(epsilon))};
}

Status check_stash_type(const Site& site) {
  const int64_t type = site.node.int_or("stash_type", 1);
  if (type == 1) return ok_status();
  return unsupported("attribute stash_type is ", type, "; only float32 (1) is supported");
}

/// Output, mean and inverse deviation of a standard LayerNormalization.
std::vector<ValueId> layer_norm(Site& site, ValueId x, ValueId scale, ValueId bias, int64_t axis,
                                double epsilon) {
  std::vector<ValueId> inputs = {x, scale};
  if (bias != ir::kNone) inputs.push_back(bias);
  const size_t outputs = site.wants(2) ? 3 : site.wants(1) ? 2 : 1;
  return site.emit.ops("LayerNormalization", inputs, outputs, options(axis, epsilon));
}

ValueId rms_norm(Site& site, ValueId x, ValueId scale, int64_t axis, double epsilon) {
  return site.emit.op("RMSNormalization", {x, scale}, options(axis, epsilon));
}

Lowered lower_layer_norm(Site& site) {
  RETURN_IF_ERROR(check_stash_type(site));
  return layer_norm(site, site.in(0), site.in(1), site.in(2), site.node.int_or("axis", -1),
                    site.number("epsilon", 1e-5));
}

Lowered lower_simplified_layer_norm(Site& site) {
  RETURN_IF_ERROR(check_stash_type(site));
  return one(
      rms_norm(site, site.in(0), site.in(1), site.node.int_or("axis", -1), site.number("epsilon", 1e-5)));
}

/// input + skip (+ bias). The order matters for rounding.
ValueId skipped(Site& site, size_t bias) {
  const ValueId sum = site.emit.op("Add", {site.in(0), site.in(1)});
  return site.has(bias) ? site.emit.op("Add", {sum, site.in(bias)}) : sum;
}

Lowered lower_skip_layer_norm(Site& site) {
  const ValueId sum = skipped(site, 4);
  std::vector<ValueId> out = layer_norm(site, sum, site.in(2), site.in(3), -1, site.number("epsilon", 1e-12));
  out.resize(3, ir::kNone);
  out.push_back(sum);
  return out;
}

Lowered lower_skip_simplified_layer_norm(Site& site) {
  const ValueId sum = skipped(site, 3);
  const ValueId out = rms_norm(site, sum, site.in(2), -1, site.number("epsilon", 1e-12));
  return std::vector<ValueId>{out, ir::kNone, ir::kNone, sum};
}

/// Rows 0 to S-1 of the position table, where S is the length of the input.
ValueId first_positions(Site& site, ValueId table) {
  const ValueId shape = site.emit.op("Shape", {site.in(0)});
  const ValueId length = site.emit.slice(shape, 0, 1, 2);
  return site.emit.op("Slice", {table, site.emit.ints({0}), length, site.emit.ints({0})});
}

/// What both forms of EmbedLayerNormalization have as inputs 0 to 7: input_ids, segment_ids?, word, position, segment?, gamma,
/// beta, mask?. `real(value, table)` gives rows of the table at input `table`, or all of it, in floats.
template <class Real>
Lowered embedded(Site& site, ValueId position_ids, const Real& real) {
  Emitter& emit = site.emit;
  if (site.has(1) != site.has(4))
    return unsupported("inputs segment_ids and segment_embedding must both be given, or neither");
  const ValueId words = real(emit.op("Gather", {site.in(2), site.in(0)}), 2);
  const ValueId places = real(position_ids == ir::kNone ? first_positions(site, site.in(3))
                                                        : emit.op("Gather", {site.in(3), position_ids}),
                              3);
  ValueId sum = emit.op("Add", {words, places});
  if (site.has(1)) sum = emit.op("Add", {sum, real(emit.op("Gather", {site.in(4), site.in(1)}), 4)});
  const ValueId out =
      emit.op("LayerNormalization", {sum, real(site.in(5), 5), real(site.in(6), 6)},
              {Attribute::of_float("epsilon", static_cast<float>(site.number("epsilon", 1e-12)))});
  ValueId mask = ir::kNone;
  if (site.wants(1) && site.has(7)) mask = emit.reduce("ReduceSum", site.in(7), {1}, false);
  if (site.wants(1) && !site.has(7)) {
    const ValueId batch = emit.slice(emit.op("Shape", {site.in(0)}), 0, 0, 1);
    Result<ir::TensorPtr> zero = ir::Tensor::make(ir::ElementType::kInt32, {1}, std::vector<std::byte>(4));
    if (!zero.ok()) return zero.status();
    mask = emit.op("ConstantOfShape", {batch}, {Attribute::of_tensor("value", *zero)});
  }
  return std::vector<ValueId>{out, mask, sum};
}

/// Input 8: position_ids?
Lowered lower_embed_layer_norm(Site& site) {
  return embedded(site, site.in(8), [](ValueId value, size_t) { return value; });
}

/// Tables, gamma and beta are bytes. Inputs 8 to 12 are the scales of inputs 2 to 6, and 13 to 17 their zero points.
Lowered lower_qembed_layer_norm(Site& site) {
  Lowered out = embedded(site, ir::kNone, [&](ValueId value, size_t table) {
    return dequantized(site, value, table + 6, table + 11);
  });
  if (out.ok()) out->resize(2);
  return out;
}

/// x is [N,H,W,C], or [N,C,H,W] when channels_last is 0; gamma and beta are [C]. Activation 1 is x * sigmoid(x).
Lowered lower_group_norm(Site& site) {
  Emitter& emit = site.emit;
  const bool last = site.node.int_or("channels_last", 1) != 0;
  const int64_t activation = site.node.int_or("activation", 0);
  if (activation != 0 && activation != 1)
    return unsupported("attribute activation is ", activation, ", known are 0 (none) and 1 (SiLU)");
  if (last && site.rank(0) != 4) return unsupported("with channels_last, the input must be of rank 4");
  const ValueId x = widened(site, site.in(0));
  const ir::ElementType element = site.type(x).element;
  const auto as_x = [&](ValueId value) {
    return site.type(value).element == element ? value : emit.cast(value, element);
  };
  ValueId y = emit.op("GroupNormalization",
                      {last ? emit.transpose(x, {0, 3, 1, 2}) : x, as_x(site.in(1)), as_x(site.in(2))},
                      {Attribute::of_int("num_groups", site.node.int_or("groups", 0)),
                       Attribute::of_float("epsilon", static_cast<float>(site.number("epsilon", 1e-5)))});
  if (last) y = emit.transpose(y, {0, 2, 3, 1});
  if (activation == 1) y = emit.op("Swish", {y});
  return one(element == site.element(0) ? y : emit.cast(y, site.element(0)));
}

/// Adds a bias of the same rank, then takes the softmax over all dimensions from `axis` on. `is_inner_broadcast` is
/// not needed: it says which dimensions of the bias are 1.
Lowered lower_bias_softmax(Site& site) {
  Emitter& emit = site.emit;
  const ValueId sum = emit.op("Add", {site.in(0), site.in(1)});
  const Attribute axis = Attribute::of_int("axis", site.node.int_or("axis", 1));
  const ValueId rows = emit.op("Flatten", {sum}, {axis});
  const ValueId soft = emit.op("Softmax", {rows}, {Attribute::of_int("axis", 1)});
  return one(emit.op("Reshape", {soft, emit.op("Shape", {site.in(0)})}));
}

/// Version 1, which ai.onnx has dropped: across_channels instead of axes.
Lowered lower_mean_variance(Site& site) {
  if (site.rank(0) != 4) return unsupported("MeanVarianceNormalization-1 needs an input of rank 4");
  const std::vector<int64_t> axes = site.node.int_or("across_channels", 0) != 0
                                        ? std::vector<int64_t>{0, 1, 2, 3}
                                        : std::vector<int64_t>{0, 2, 3};
  if (site.node.int_or("normalize_variance", 1) != 0) {
    return one(site.emit.op("MeanVarianceNormalization", {site.in(0)}, {Attribute::of_ints("axes", axes)}));
  }
  return one(site.emit.op("Sub", {site.in(0), site.emit.reduce("ReduceMean", site.in(0), axes)}));
}

}  // namespace

const std::vector<NamedLowering>& normalization_lowerings() {
  static const std::vector<NamedLowering> table = {
      {kMicrosoft, "BiasSoftmax", lower_bias_softmax},
      {kMicrosoft, "EmbedLayerNormalization", lower_embed_layer_norm},
      {kMicrosoft, "GroupNorm", lower_group_norm},
      {kMicrosoft, "LayerNormalization", lower_layer_norm},
      {kMicrosoft, "QEmbedLayerNormalization", lower_qembed_layer_norm},
      {kMicrosoft, "SimplifiedLayerNormalization", lower_simplified_layer_norm},
      {kMicrosoft, "SkipLayerNormalization", lower_skip_layer_norm},
      {kMicrosoft, "SkipSimplifiedLayerNormalization", lower_skip_simplified_layer_norm},
      {"", "LayerNormalization", lower_layer_norm},
      {"", "MeanVarianceNormalization", lower_mean_variance},
      {"", "SimplifiedLayerNormalization", lower_simplified_layer_norm},
  };
  return table;
}

}  // namespace tenon::transform
