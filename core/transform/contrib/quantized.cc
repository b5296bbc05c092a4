// Operators on quantised tensors that ai.onnx lacks: dequantise, compute, quantise again. Also products of
// integers.
#include "core/transform/contrib/lower.h"

namespace tenon::transform {

namespace {

using ir::Attribute;
using ir::ElementType;
using ir::ValueId;

/// Dequantises input `index` with the scale and zero point that follow it.
ValueId real(Site& site, size_t index) {
  std::vector<ValueId> inputs = {site.in(index), site.in(index + 1)};
  if (site.has(index + 2)) inputs.push_back(site.in(index + 2));
  return site.emit.op("DequantizeLinear", inputs);
}

/// Quantises `x`. The scale is input `index`, the zero point is the next.
ValueId quantized(Site& site, ValueId x, size_t index) {
  std::vector<ValueId> inputs = {x, site.in(index)};
  if (site.has(index + 1)) inputs.push_back(site.in(index + 1));
  return site.emit.op("QuantizeLinear", inputs);
}

Lowered binary(Site& site, std::string_view op) {
  return one(quantized(site, site.emit.op(op, {real(site, 0), real(site, 3)}), 6));
}
Lowered lower_qlinear_add(Site& site) { return binary(site, "Add"); }
Lowered lower_qlinear_mul(Site& site) { return binary(site, "Mul"); }

Lowered lower_qlinear_sigmoid(Site& site) {
  return one(quantized(site, site.emit.op("Sigmoid", {real(site, 0)}), 3));
}

Lowered lower_qlinear_leaky_relu(Site& site) {
  return one(quantized(site, site.emit.op("LeakyRelu", {real(site, 0)}, site.attributes({"alpha"})), 3));
}

/// The mean over all dimensions except batch and channels, which may be last.
Lowered lower_qlinear_global_pool(Site& site) {
  if (site.node.int_or("channels_last", 0) == 0)
    return one(quantized(site, site.emit.op("GlobalAveragePool", {real(site, 0)}), 3));
  // Reshape to [N, pixels, C], because the rank may be unknown.
  Emitter& emit = site.emit;
  const ValueId x = real(site, 0), shape = emit.op("Shape", {x});
  const ValueId first = emit.slice(shape, 0, 0, 1), last = emit.slice(shape, 0, -1, INT64_MAX);
  const ValueId ones = emit.op("Min", {emit.slice(shape, 0, 1, -1), emit.ints({1})});
  const auto joined = [&](ValueId middle) {
    return emit.op("Concat", {first, middle, last}, {Attribute::of_int("axis", 0)});
  };
  const ValueId pixels = emit.op("Reshape", {x, joined(emit.ints({-1}))});
  const ValueId mean = emit.reduce("ReduceMean", pixels, {1});
  return one(quantized(site, emit.op("Reshape", {mean, joined(ones)}), 3));
}

/// Before opset 13, the softmax is over all dimensions from `axis` on.
Lowered lower_qlinear_softmax(Site& site) {
  const ValueId x = real(site, 0);
  const int64_t opset = site.node.int_or("opset", 0), axis = site.node.int_or("axis", -1);
  if (opset >= 13)
    return one(quantized(site, site.emit.op("Softmax", {x}, {Attribute::of_int("axis", axis)}), 3));
  const ValueId rows = site.emit.op("Flatten", {x}, {Attribute::of_int("axis", axis)});
  const ValueId soft = site.emit.op("Softmax", {rows}, {Attribute::of_int("axis", 1)});
  return one(quantized(site, site.emit.op("Reshape", {soft, site.emit.op("Shape", {x})}), 3));
}

/// Inputs: A, a_scale, a_zero, B, b_scale, b_zero, C?, y_scale?, y_zero?. Gives floats without y_scale. C is in
/// units of a_scale * b_scale.
Lowered lower_qgemm(Site& site) {
  Emitter& emit = site.emit;
  const auto turned = [&](size_t index, std::string_view attribute) {
    if (site.node.int_or(attribute, 0) == 0) return site.in(index);
    return emit.transpose(site.in(index), {1, 0});
  };
  const ValueId a = turned(0, "transA"), b = turned(3, "transB");
  ValueId sum = emit.op("MatMulInteger", {a, b, site.in(2), site.in(5)});
  if (site.has(6)) sum = emit.op("Add", {sum, site.in(6)});
  const ElementType element = site.element(1);
  ValueId y = emit.op("Mul", {emit.cast(sum, element), emit.op("Mul", {site.in(1), site.in(4)})});
  if (const double alpha = site.number("alpha", 1); alpha != 1)
    y = emit.op("Mul", {y, emit.scalar(element, alpha)});
  return one(site.has(7) ? quantized(site, y, 7) : y);
}

Lowered lower_qlinear_concat(Site& site) {
  std::vector<ValueId> parts;
  for (size_t i = 2; i + 1 < site.node.inputs.size(); i += 3) parts.push_back(real(site, i));
  return one(quantized(site, site.emit.op("Concat", parts, site.attributes({"axis"})), 0));
}

Lowered lower_quantize(Site& site) {
  std::vector<ValueId> inputs = {site.in(0), site.in(1)};
  if (site.has(2)) inputs.push_back(site.in(2));
  return one(site.emit.op("QuantizeLinear", inputs, site.attributes({"axis"})));
}

Lowered lower_dequantize(Site& site) {
  std::vector<ValueId> inputs = {site.in(0), site.in(1)};
  if (site.has(2)) inputs.push_back(site.in(2));
  return one(site.emit.op("DequantizeLinear", inputs, site.attributes({"axis"})));
}

/// The product of integers times both scales, plus a bias.
ValueId scaled_product(Site& site, ValueId a, ValueId a_zero, ValueId b_zero, ValueId scale, size_t bias) {
  Emitter& emit = site.emit;
  const ValueId product = emit.op("MatMulInteger", {a, site.in(1), a_zero, b_zero});
  const ElementType element = site.type(scale).element;
  const ValueId out = emit.op(
      "Mul", {emit.op("Cast", {product}, {Attribute::of_int("to", static_cast<int64_t>(element))}), scale});
  return site.has(bias) ? emit.op("Add", {out, site.in(bias)}) : out;
}

/// Inputs: A, B, a_scale, b_scale, a_zero?, b_zero?, bias?
Lowered lower_matmul_integer_to_float(Site& site) {
  const ValueId scale = site.emit.op("Mul", {site.in(2), site.in(3)});
  return one(scaled_product(site, site.in(0), site.in(4), site.in(5), scale, 6));
}

/// Inputs: A in floats, B, b_scale, b_zero?, bias?
Lowered lower_dynamic_quantize_matmul(Site& site) {
  const std::vector<ValueId> a = site.emit.ops("DynamicQuantizeLinear", {site.in(0)}, 3);
  RETURN_IF_ERROR(site.emit.status());
  const ValueId scale = site.emit.op("Mul", {a[1], site.in(2)});
  return one(scaled_product(site, a[0], a[2], site.in(3), scale, 4));
}

}  // namespace

const std::vector<NamedLowering>& quantized_lowerings() {
  static const std::vector<NamedLowering> table = {
      {kMicrosoft, "DequantizeLinear", lower_dequantize},
      {kMicrosoft, "DynamicQuantizeMatMul", lower_dynamic_quantize_matmul},
      {kMicrosoft, "MatMulIntegerToFloat", lower_matmul_integer_to_float},
      {kMicrosoft, "QGemm", lower_qgemm},
      {kMicrosoft, "QLinearAdd", lower_qlinear_add},
      {kMicrosoft, "QLinearConcat", lower_qlinear_concat},
      {kMicrosoft, "QLinearGlobalAveragePool", lower_qlinear_global_pool},
      {kMicrosoft, "QLinearLeakyRelu", lower_qlinear_leaky_relu},
      {kMicrosoft, "QLinearMul", lower_qlinear_mul},
      {kMicrosoft, "QLinearSigmoid", lower_qlinear_sigmoid},
      {kMicrosoft, "QLinearSoftmax", lower_qlinear_softmax},
      {kMicrosoft, "QuantizeLinear", lower_quantize},
  };
  return table;
}

}  // namespace tenon::transform
