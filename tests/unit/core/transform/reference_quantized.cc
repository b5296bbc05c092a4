// Quantised operators of the slow evaluator: the operator on floats between conversions, as their definitions say.
#include <algorithm>
#include <cmath>

#include "tests/unit/core/transform/reference_operators.h"

namespace tenon::testing {
namespace {

const Array* input(const Call& call, size_t index) {
  return index < call.in.size() ? call.in[index] : nullptr;
}

/// The scale (or zero point) of each element of `x`: one, or one for each slice of `axis`.
double parameter(const Array& list, const Array& x, int64_t axis, size_t element) {
  if (list.values.size() == 1) return list.values[0];
  size_t inner = 1;
  if (axis < 0) axis += static_cast<int64_t>(x.dims.size());
  for (size_t i = static_cast<size_t>(axis) + 1; i < x.dims.size(); ++i)
    inner *= static_cast<size_t>(x.dims[i]);
  return list.values[element / inner % list.values.size()];
}

Array dequantized(const Array& x, const Array& scale, const Array* zero, int64_t axis) {
  Array out = x;
  for (size_t i = 0; i < out.values.size(); ++i) {
    if (zero != nullptr) out.values[i] -= parameter(*zero, x, axis, i);
    out.values[i] *= parameter(scale, x, axis, i);
  }
  return out;
}

Array quantized(const Call& call, const Array& x, const Array& scale, const Array* zero, int64_t axis) {
  const bool is_signed = call.graph.value(call.node.outputs[0]).type.element == ir::ElementType::kInt8;
  const double low = is_signed ? -128 : 0;
  Array out = x;
  for (size_t i = 0; i < out.values.size(); ++i) {
    const double shift = zero != nullptr ? parameter(*zero, x, axis, i) : 0;
    const double rounded = std::nearbyint(out.values[i] / parameter(scale, x, axis, i)) + shift;
    out.values[i] = std::clamp(rounded, low, low + 255);
  }
  return out;
}

/// The operator on floats, with the attributes of the node.
Array on_floats(const Call& call, const std::string& op_type, std::vector<const Array*> in) {
  ir::Node node = call.node;
  node.op_type = op_type;
  node.domain = "";
  std::vector<Array> out;
  call_operator({call.graph, node, std::move(in)}, &out);
  return out[0];
}

/// x, x_scale, x_zero, w, w_scale, w_zero; `axis`: of the scales of w. `bias` and `y_scale` are places of inputs; a bias is
/// in units of alpha * x_scale * w_scale.
Array qlinear(const Call& call, const std::string& op_type, int64_t axis, size_t bias, size_t y_scale) {
  const Array x = dequantized(*call.in[0], *call.in[1], call.in[2], 1),
              w = dequantized(*call.in[3], *call.in[4], call.in[5], axis);
  std::vector<const Array*> in = {&x, &w};
  Array real_bias;
  if (input(call, bias) != nullptr) {
    Array scale = *call.in[4];
    for (double& s : scale.values) s *= call.in[1]->values[0] * static_cast<double>(call.number("alpha", 1));
    real_bias = dequantized(*call.in[bias], scale, nullptr, 0);
    in.push_back(&real_bias);
  }
  return quantized(call, on_floats(call, op_type, in), *call.in[y_scale], call.in[y_scale + 1], 1);
}

/// To uint8, with the range of the elements and 0. Gives the bytes, the scale and the zero point.
std::vector<Array> dynamically_quantized(const Array& x) {
  double low = 0, high = 0;
  for (const double value : x.values) low = std::min(low, value), high = std::max(high, value);
  const double scale = static_cast<double>(static_cast<float>((high - low) / 255));
  const double zero = std::clamp(std::nearbyint(-low / scale), 0.0, 255.0);
  Array bytes = x;
  for (double& value : bytes.values) value = std::clamp(std::nearbyint(value / scale) + zero, 0.0, 255.0);
  return {bytes, {{}, {scale}}, {{}, {zero}}};
}

/// `a_zero` and `b_zero` are places of inputs. Zero points of a may belong to its rows, those of b to its columns.
Array integer_product(const Call& call, size_t a_zero, size_t b_zero) {
  const Array one{{}, {1}};
  const Array a = dequantized(*call.in[0], one, input(call, a_zero), -2),
              b = dequantized(*call.in[1], one, input(call, b_zero), -1);
  return on_floats(call, "MatMul", {&a, &b});
}

Array scaled_integer_product(const Call& call) {
  Array y = integer_product(call, 4, 5);
  for (size_t i = 0; i < y.values.size(); ++i) {
    y.values[i] *= call.in[2]->values[0] * parameter(*call.in[3], y, -1, i);
    if (input(call, 6) != nullptr) y.values[i] += parameter(*call.in[6], y, -1, i);
  }
  return y;
}

}  // namespace

bool call_quantized(const Call& call, std::vector<Array>* outputs) {
  const ir::Node& node = call.node;
  const int64_t axis = node.int_or("axis", 1);
  if (node.is("DequantizeLinear")) {
    *outputs = {dequantized(*call.in[0], *call.in[1], input(call, 2), axis)};
  } else if (node.is("QuantizeLinear")) {
    *outputs = {quantized(call, *call.in[0], *call.in[1], input(call, 2), axis)};
  } else if (node.is("QLinearConv")) {
    *outputs = {qlinear(call, "Conv", 0, 8, 6)};
  } else if (node.is("QLinearMatMul")) {
    *outputs = {qlinear(call, "MatMul", 1, 8, 6)};
  } else if (node.is("DynamicQuantizeLinear")) {
    *outputs = dynamically_quantized(*call.in[0]);
  } else if (node.is("MatMulInteger")) {
    *outputs = {integer_product(call, 2, 3)};
  } else if (node.is("MatMulIntegerToFloat", "com.microsoft")) {
    *outputs = {scaled_integer_product(call)};
  } else if (node.is("QGemm", "com.microsoft")) {
    *outputs = {qlinear(call, "Gemm", node.int_or("transB", 0) != 0 ? 0 : 1, 6, 7)};
  } else {
    return false;
  }
  return true;
}

}  // namespace tenon::testing
