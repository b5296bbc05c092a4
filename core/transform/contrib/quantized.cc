// Operators on quantised tensors that ai.onnx lacks: dequantise, compute, quantise again. Also products of
// integers.
#include "core/transform/contrib/lower.h"

namespace tenon::transform {

using ir::Attribute;
using ir::ElementType;
using ir::ValueId;

ValueId scaled_product(Site& site, ValueId a, ValueId a_zero, ValueId b, ValueId b_zero, ValueId scale,
                       ValueId bias) {
  Emitter& emit = site.emit;
  const ValueId product = emit.op("MatMulInteger", {a, b, a_zero, b_zero});
  const ElementType element = site.type(scale).element;
  const ValueId out = emit.op(
      "Mul", {emit.op("Cast", {product}, {Attribute::of_int("to", static_cast<int64_t>(element))}), scale});
  return bias == ir::kNone ? out : emit.op("Add", {out, bias});
}

ValueId dequantized(Site& site, ValueId x, size_t scale, size_t zero_point) {
  std::vector<ValueId> inputs = {x, site.in(scale)};
  if (site.has(zero_point)) inputs.push_back(site.in(zero_point));
  return site.emit.op("DequantizeLinear", inputs);
}

namespace {

/// Dequantises input `index` with the scale and zero point that follow it.
ValueId real(Site& site, size_t index) { return dequantized(site, site.in(index), index + 1, index + 2); }

/// A scalar of one byte.
ValueId byte(Site& site, ElementType element, uint8_t value) {
  Result<ir::TensorPtr> made = ir::Tensor::make(element, {}, {std::byte{value}});
  return site.emit.constant(made.ok() ? *made : nullptr);
}

/// Quantises `x`. The scale is input `index`, the zero point is the next. Without one, the result has the type of input `like`.
ValueId quantized(Site& site, ValueId x, size_t index, size_t like) {
  std::vector<ValueId> inputs = {x, site.in(index)};
  if (site.has(index + 1)) {
    inputs.push_back(site.in(index + 1));
  } else if (site.element(like) == ElementType::kInt8) {
    inputs.push_back(byte(site, ElementType::kInt8, 0));
  }
  return site.emit.op("QuantizeLinear", inputs);
}

Lowered binary(Site& site, std::string_view op) {
  return one(quantized(site, site.emit.op(op, {real(site, 0), real(site, 3)}), 6, 0));
}
Lowered lower_qlinear_add(Site& site) { return binary(site, "Add"); }
Lowered lower_qlinear_mul(Site& site) { return binary(site, "Mul"); }

Lowered lower_qlinear_sigmoid(Site& site) {
  return one(quantized(site, site.emit.op("Sigmoid", {real(site, 0)}), 3, 0));
}

Lowered lower_qlinear_leaky_relu(Site& site) {
  return one(quantized(site, site.emit.op("LeakyRelu", {real(site, 0)}, site.attributes({"alpha"})), 3, 0));
}

/// The mean over all dimensions except batch and channels, which may be last.
Lowered lower_qlinear_global_pool(Site& site) {
  if (site.node.int_or("channels_last", 0) == 0)
    return one(quantized(site, site.emit.op("GlobalAveragePool", {real(site, 0)}), 3, 0));
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
  return one(quantized(site, emit.op("Reshape", {mean, joined(ones)}), 3, 0));
}

/// Channels may be last. A pool has as many spatial axes as its kernel.
Lowered lower_qlinear_average_pool(Site& site) {
  const ir::Attribute* kernel = site.node.find("kernel_shape");
  if (kernel == nullptr || kernel->ints.empty())
    return invalid_model("attribute 'kernel_shape' is missing or empty");
  const auto axes = static_cast<int64_t>(kernel->ints.size());
  const bool last = site.node.int_or("channels_last", 0) != 0;
  std::vector<int64_t> to_second = {0, axes + 1}, to_last = {0};
  for (int64_t axis = 1; axis <= axes; ++axis) to_second.push_back(axis), to_last.push_back(axis + 1);
  to_last.push_back(1);
  ValueId x = real(site, 0);
  if (last) x = site.emit.transpose(x, to_second);
  x = site.emit.op(
      "AveragePool", {x},
      site.attributes({"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"}));
  if (last) x = site.emit.transpose(x, to_last);
  return one(quantized(site, x, 3, 0));
}

/// Inputs: condition, X, x_scale, x_zero_point, Y, y_scale, y_zero_point, z_scale, z_zero_point.
Lowered lower_qlinear_where(Site& site) {
  return one(quantized(site, site.emit.op("Where", {site.in(0), real(site, 1), real(site, 4)}), 7, 1));
}

/// Before opset 13, the softmax is over all dimensions from `axis` on.
Lowered lower_qlinear_softmax(Site& site) {
  const ValueId x = real(site, 0);
  const int64_t opset = site.node.int_or("opset", 0), axis = site.node.int_or("axis", -1);
  if (opset >= 13)
    return one(quantized(site, site.emit.op("Softmax", {x}, {Attribute::of_int("axis", axis)}), 3, 0));
  const ValueId rows = site.emit.op("Flatten", {x}, {Attribute::of_int("axis", axis)});
  const ValueId soft = site.emit.op("Softmax", {rows}, {Attribute::of_int("axis", 1)});
  return one(quantized(site, site.emit.op("Reshape", {soft, site.emit.op("Shape", {x})}), 3, 0));
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
  return one(site.has(7) ? quantized(site, y, 7, 8) : y);
}

Lowered lower_qlinear_concat(Site& site) {
  std::vector<ValueId> parts;
  for (size_t i = 2; i + 1 < site.node.inputs.size(); i += 3) parts.push_back(real(site, i));
  return one(quantized(site, site.emit.op("Concat", parts, site.attributes({"axis"})), 0, 2));
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

/// Inputs: A, B, a_scale, b_scale, a_zero?, b_zero?, bias?
Lowered lower_matmul_integer_to_float(Site& site) {
  const ValueId scale = site.emit.op("Mul", {site.in(2), site.in(3)});
  return one(scaled_product(site, site.in(0), site.in(4), site.in(1), site.in(5), scale, site.in(6)));
}

/// Inputs: A in floats, B, b_scale, b_zero?, bias?
Lowered lower_dynamic_quantize_matmul(Site& site) {
  const std::vector<ValueId> a = site.emit.ops("DynamicQuantizeLinear", {site.in(0)}, 3);
  RETURN_IF_ERROR(site.emit.status());
  const ValueId scale = site.emit.op("Mul", {a[1], site.in(2)});
  return one(scaled_product(site, a[0], a[2], site.in(1), site.in(3), scale, site.in(4)));
}

/// The weights of all directions, [D,K,4*H] with scales and zero points [D] or [D,4*H], as LSTM wants them: [D,4*H,K].
ValueId gates(Site& site, size_t weights, size_t scale) {
  Emitter& emit = site.emit;
  const ElementType element = site.element(scale);
  const auto per_direction = [&](ValueId value) { return emit.reshape(value, {0, 1, -1}); };
  const ValueId zero = per_direction(emit.cast(site.in(scale + 1), element));
  const ValueId steps = emit.op("Sub", {emit.cast(site.in(weights), element), zero});
  return emit.transpose(emit.op("Mul", {steps, per_direction(site.in(scale))}), {0, 2, 1});
}

/// An LSTM in floats, with the weights dequantised: ONNX Runtime also quantises X and the hidden state at each step, which
/// only adds errors. Inputs: X, W, R, B?, sequence_lens?, initial_h?, initial_c?, P?, then scale and zero point of W and R.
Lowered lower_dynamic_quantize_lstm(Site& site) {
  std::vector<ValueId> inputs = {site.in(0), gates(site, 1, 8), gates(site, 2, 10)};
  for (size_t i = 3; i < 8; ++i) inputs.push_back(site.in(i));
  while (inputs.back() == ir::kNone) inputs.pop_back();
  RETURN_IF_ERROR(site.emit.status());
  return site.emit.ops("LSTM", inputs, site.node.outputs.size(),
                       site.attributes({"activation_alpha", "activation_beta", "activations", "clip",
                                        "direction", "hidden_size", "input_forget"}));
}

/// Two elements of 4 bits in each byte, the lower first, along the last axis.
ValueId halves(Site& site, ValueId x) {
  Emitter& emit = site.emit;
  const ValueId low = emit.op("BitwiseAnd", {x, byte(site, ElementType::kUInt8, 15)});
  const ValueId high = emit.op("BitShift", {x, byte(site, ElementType::kUInt8, 4)},
                               {Attribute::of_string("direction", "RIGHT")});
  const ValueId pairs = emit.op("Concat", {emit.unsqueeze(low, {-1}), emit.unsqueeze(high, {-1})},
                                {Attribute::of_int("axis", -1)});
  const ValueId shape = emit.op("Shape", {x});
  const ValueId wide = emit.op("Mul", {emit.slice(shape, 0, -1, INT64_MAX), emit.ints({2})});
  return emit.op("Reshape", {pairs, emit.op("Concat", {emit.slice(shape, 0, 0, -1), wide},
                                            {Attribute::of_int("axis", 0)})});
}

/// Takes slices of data that is quantised in blocks, and dequantises those. Inputs: data, indices, scales, zero_points?
Lowered lower_gather_block_quantized(Site& site) {
  Emitter& emit = site.emit;
  const int64_t bits = site.node.int_or("bits", 4), block = site.node.int_or("block_size", 128),
                rank = site.rank(0);
  const ElementType element = site.element(0);
  const bool is_byte = element == ElementType::kUInt8;
  if (element != ElementType::kInt4 && element != ElementType::kUInt4 && !is_byte)
    return unsupported("data of type ", ir::element_type_name(element),
                       "; supported are int4, uint4 and uint8");
  if (is_byte ? bits != 4 && bits != 8 : bits != 4)
    return unsupported("attribute bits is ", bits, "; supported are 4, and 8 for data of uint8");
  if (block < 16 || (block & (block - 1)) != 0)
    return invalid_model("attribute block_size is ", block, "; it must be a power of 2 from 16 on");
  if (rank < 1) return unsupported("the rank of the data is not known, or 0");
  const auto axis_of = [&](std::string_view name, int64_t fallback) {
    const int64_t axis = site.node.int_or(name, fallback);
    return axis < 0 ? axis + rank : axis;
  };
  const int64_t gathered = axis_of("gather_axis", 0), blocked = axis_of("quantize_axis", 1);
  if (gathered < 0 || gathered >= rank || blocked < 0 || blocked >= rank)
    return invalid_model("attribute gather_axis or quantize_axis is out of range for data of rank ", rank);
  if (gathered == blocked)
    return unsupported(
        "attributes gather_axis and quantize_axis name the same axis, so an index takes part of a block");
  if (is_byte && gathered != 0)
    return invalid_model("attribute gather_axis is ", gathered, "; for data of uint8 it must be 0");
  const auto taken = [&](ValueId from) {
    return emit.op("Gather", {from, site.in(1)}, {Attribute::of_int("axis", gathered)});
  };
  // Gather has no elements of 4 bits.
  const auto steps = [&](size_t index) {
    const ValueId x = site.in(index);
    if (!is_byte)
      return taken(emit.cast(x, element == ElementType::kInt4 ? ElementType::kInt8 : ElementType::kUInt8));
    return bits == 4 ? halves(site, taken(x)) : taken(x);
  };
  const ValueId scales = taken(site.in(2));
  std::vector<ValueId> inputs = {steps(0), scales};
  if (site.has(3)) {
    ValueId zero = steps(3);
    if (is_byte && bits == 4)  // an odd number of blocks ends with half a byte
      zero = emit.op("Slice", {zero, emit.ints({0}), emit.slice(emit.op("Shape", {scales}), 0, -1, INT64_MAX),
                               emit.ints({-1})});
    inputs.push_back(zero);
  } else if (is_byte) {
    const int64_t middle = int64_t{1} << (bits - 1);
    inputs.push_back(
        emit.op("Expand", {emit.cast(emit.ints({middle}), ElementType::kUInt8), emit.op("Shape", {scales})}));
  }
  // Axes behind the one that the indices replace are counted from the end.
  return one(emit.op("DequantizeLinear", inputs,
                     {Attribute::of_int("axis", blocked > gathered ? blocked - rank : blocked),
                      Attribute::of_int("block_size", block)}));
}

}  // namespace

const std::vector<NamedLowering>& quantized_lowerings() {
  static const std::vector<NamedLowering> table = {
      {kMicrosoft, "DequantizeLinear", lower_dequantize},
      {kMicrosoft, "DynamicQuantizeLSTM", lower_dynamic_quantize_lstm},
      {kMicrosoft, "DynamicQuantizeMatMul", lower_dynamic_quantize_matmul},
      {kMicrosoft, "GatherBlockQuantized", lower_gather_block_quantized},
      {kMicrosoft, "MatMulIntegerToFloat", lower_matmul_integer_to_float},
      {kMicrosoft, "QGemm", lower_qgemm},
      {kMicrosoft, "QLinearAdd", lower_qlinear_add},
      {kMicrosoft, "QLinearAveragePool", lower_qlinear_average_pool},
      {kMicrosoft, "QLinearConcat", lower_qlinear_concat},
      {kMicrosoft, "QLinearGlobalAveragePool", lower_qlinear_global_pool},
      {kMicrosoft, "QLinearLeakyRelu", lower_qlinear_leaky_relu},
      {kMicrosoft, "QLinearMul", lower_qlinear_mul},
      {kMicrosoft, "QLinearSigmoid", lower_qlinear_sigmoid},
      {kMicrosoft, "QLinearSoftmax", lower_qlinear_softmax},
      {kMicrosoft, "QLinearWhere", lower_qlinear_where},
      {kMicrosoft, "QuantizeLinear", lower_quantize},
  };
  return table;
}

}  // namespace tenon::transform
