// Output types for schemas without inference in ONNX: those of its first opsets, a few of ai.onnx.ml, and functions
// with only a body. Also where ONNX's inference is wrong or refuses what other runtimes accept.
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "core/ops/rules.h"

namespace tenon::ops {

namespace {

using ir::Dim;
using ir::ElementType;
using ir::Node;
using ir::Shape;
using ir::Type;
using Types = std::vector<Type>;

Status all_like_first(const Node&, const InferInputs& inputs, Types& out) {
  if (const Type* x = tensor_input(inputs, 0)) out.assign(out.size(), *x);
  return ok_status();
}

Status boolean_broadcast(const Node&, const InferInputs& inputs, Types& out) {
  return broadcast(inputs, 0, 1, ElementType::kBool, out);
}

/// BatchNormalization-1: y, then the statistics, each [C].
Status batch_norm(const Node&, const InferInputs& inputs, Types& out) {
  const Type* x = tensor_input(inputs, 0);
  if (x == nullptr) return ok_status();
  if (!out.empty()) out[0] = *x;
  for (size_t i = 1; i < out.size(); ++i) set_output(out, i, x->element, Shape({dim_input(inputs, 1, 0)}));
  return ok_status();
}

/// Cast-1 names its type in ONNX's spelling.
Status cast(const Node& node, const InferInputs& inputs, Types& out) {
  const ir::Attribute* to = node.find("to");
  pb::TensorProto::DataType type = pb::TensorProto::UNDEFINED;
  if (to == nullptr || !pb::TensorProto::DataType_Parse(to->s, &type) || type == pb::TensorProto::UNDEFINED) {
    return invalid_model("attribute 'to' is not the name of an element type: '", to == nullptr ? "" : to->s,
                         "'");
  }
  const Type* x = tensor_input(inputs, 0);
  set_output(out, 0, static_cast<ElementType>(type), x ? x->shape : Shape());
  return ok_status();
}

/// Compress: with an axis, that axis shrinks; otherwise the result is flat.
Status compress(const Node& node, const InferInputs& inputs, Types& out) {
  const Type* x = tensor_input(inputs, 0);
  if (x == nullptr) return ok_status();
  Shape shape({Dim()});
  if (node.find("axis") != nullptr) {
    shape = x->shape;
    int64_t axis = node.int_or("axis", 0);
    if (axis < 0) axis += static_cast<int64_t>(shape.rank());
    if (shape.has_rank && (axis < 0 || axis >= static_cast<int64_t>(shape.rank()))) {
      return invalid_model("axis ", axis, " is out of range for ", x->to_string());
    }
    if (shape.has_rank) shape.dims[static_cast<size_t>(axis)] = Dim();
  }
  set_output(out, 0, x->element, std::move(shape));
  return ok_status();
}

Status concat(const Node& node, const InferInputs& inputs, Types& out) {
  Node with_axis = node;
  if (node.find("axis") == nullptr) with_axis.attributes.push_back(ir::Attribute::of_int("axis", 1));
  return infer_as("Concat", 4, with_axis, inputs, out);
}

Status gemm(const Node& node, const InferInputs& inputs, Types& out) {
  return infer_as("Gemm", 7, node, inputs, out);
}
Status gru(const Node& node, const InferInputs& inputs, Types& out) {
  return infer_as("GRU", 7, node, inputs, out);
}
Status lp_pool(const Node& node, const InferInputs& inputs, Types& out) {
  return infer_as("LpPool", 11, node, inputs, out);
}

Status global_pool(const Node&, const InferInputs& inputs, Types& out) {
  const Type* x = tensor_input(inputs, 0);
  if (x == nullptr) return ok_status();
  Shape shape = x->shape;
  for (size_t i = 2; i < shape.rank(); ++i) shape.dims[i] = Dim(1);
  set_output(out, 0, x->element, std::move(shape));
  return ok_status();
}

Status pad(const Node& node, const InferInputs& inputs, Types& out) {
  const Type* x = tensor_input(inputs, 0);
  const ir::Attribute* pads = node.find("paddings");
  if (x == nullptr || pads == nullptr) return ok_status();
  Shape shape = x->shape;
  if (shape.has_rank && pads->ints.size() != 2 * shape.rank()) {
    return invalid_model("attribute 'paddings' must hold ", 2 * shape.rank(), " integers, not ",
                         pads->ints.size());
  }
  for (size_t i = 0; i < shape.rank(); ++i) {
    int64_t added = 0;
    if (__builtin_add_overflow(pads->ints[i], pads->ints[i + shape.rank()], &added))
      return invalid_model("the values of attribute 'paddings' are too large");
    if (added != 0) shape.dims[i] = changed(shape.dims[i], added);
  }
  set_output(out, 0, x->element, std::move(shape));
  return ok_status();
}

/// Whether the kernel of a pool is exactly one stride longer than the padded input on spatial axis `i` of `axes`.
bool lacks_windows(const Node& node, size_t i, size_t axes, const Dim& in) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const auto number = [&](const char* name, size_t at, int64_t otherwise) {
    const ir::Attribute* list = node.find(name);
    return list != nullptr && at < list->ints.size() ? list->ints[at] : otherwise;
  };
  const ir::Attribute* auto_pad = node.find("auto_pad");
  const bool padded = auto_pad == nullptr || auto_pad->s == "NOTSET";
  if (!padded && auto_pad->s != "VALID") return false;
  const int64_t kernel = number("kernel_shape", i, 1), stride = number("strides", i, 1),
                dilation = number("dilations", i, 1), begin = padded ? number("pads", i, 0) : 0,
                end = padded ? number("pads", i + axes, 0) : 0;
  for (const int64_t n : {in.value, kernel, stride, dilation, begin, end})
    if (n < 0 || n >= kMost) return false;
  return in.value + begin + end - ((kernel - 1) * dilation + 1) == -stride;
}

/// ONNX errs with ceil_mode: before opset 22 it counts a last window that begins in the padding, which operators
/// leave out; and it counts one window where the formula gives none, because it divides towards zero.
Status ceil_pool(const Node& node, const InferInputs& inputs, Types& out) {
  constexpr int kCorrected = 22;
  const bool ceils = node.int_or("ceil_mode", 0) != 0;
  RETURN_IF_ERROR(infer_as(node.op_type, ceils ? kCorrected : node.since_version, node, inputs, out));
  const Type* x = tensor_input(inputs, 0);
  for (Type& y : out) {
    if (!ceils || x == nullptr || y.shape.rank() < 3 || x->shape.rank() != y.shape.rank()) continue;
    for (size_t i = 0; i + 2 < y.shape.rank(); ++i)
      if (lacks_windows(node, i, y.shape.rank() - 2, x->shape.dims[i + 2])) y.shape.dims[i + 2] = Dim(0);
  }
  return ok_status();
}

/// ConvTranspose with auto_pad SAME: an output dimension is the input's times the stride, or the size without
/// padding when that is less. ONNX's inference wrongly adds output_padding.
void pad_transposed_to_same(const Node& node, const Shape& x, Shape& out) {
  const ir::Attribute* strides = node.find("strides");
  const ir::Attribute* extra = node.find("output_padding");
  for (size_t i = 0; i + 2 < out.dims.size() && i + 2 < x.dims.size(); ++i) {
    if (!x.dims[i + 2].known() || !out.dims[i + 2].known() || extra == nullptr || i >= extra->ints.size())
      continue;
    const int64_t stride = strides != nullptr && i < strides->ints.size() ? strides->ints[i] : 1;
    int64_t most = 0;
    if (__builtin_mul_overflow(x.dims[i + 2].value, stride, &most)) continue;
    out.dims[i + 2].value = std::min(out.dims[i + 2].value, most);
  }
}

/// ONNX leaves the shape incomplete when an entry of output_shape is smaller than the input dimension.
Status conv_transpose(const Node& node, const InferInputs& inputs, Types& out) {
  RETURN_IF_ERROR(infer_as(node.op_type, node.since_version, node, inputs, out));
  const Type* x = tensor_input(inputs, 0);
  const ir::Attribute* wanted = node.find("output_shape");
  if (x == nullptr || out.empty() || out[0].shape.rank() < 2) return ok_status();
  const ir::Attribute* pad = node.find("auto_pad");
  if (wanted == nullptr) {
    if (pad != nullptr && (pad->s == "SAME_UPPER" || pad->s == "SAME_LOWER"))
      pad_transposed_to_same(node, x->shape, out[0].shape);
    return ok_status();
  }
  const size_t rank = x->shape.rank(), count = wanted->ints.size();
  if (rank < 3 || (count != rank - 2 && count != rank)) return ok_status();
  Shape& shape = out[0].shape;
  shape.dims.resize(2);  // keep batch and channels; output_shape may include them
  for (size_t i = count == rank ? 2 : 0; i < count; ++i) {
    if (wanted->ints[i] < 0)
      return invalid_model("attribute 'output_shape' has a negative entry: ", wanted->ints[i]);
    shape.dims.push_back(Dim(wanted->ints[i]));
  }
  return ok_status();
}

/// The value of a constant with one element; nothing when it is not known.
std::optional<double> number_input(const InferInputs& inputs, size_t index) {
  const ir::Tensor* value = index < inputs.values.size() ? inputs.values[index] : nullptr;
  if (value == nullptr || value->element_count() != 1) return std::nullopt;
  std::vector<int64_t> ints;
  if (value->to_ints(&ints)) return static_cast<double>(ints[0]);
  float narrow = 0;
  double wide = 0;
  if (value->type() == ElementType::kFloat32) {
    std::memcpy(&narrow, value->data(), sizeof(narrow));
    return narrow;
  }
  if (value->type() != ElementType::kFloat64) return std::nullopt;
  std::memcpy(&wide, value->data(), sizeof(wide));
  return wide;
}

/// Unlike ONNX's inference, also accepts operands of shape [1]: published models and ONNX's body of AffineGrid have
/// them.
Status range(const Node&, const InferInputs& inputs, Types& out) {
  const Type* start = tensor_input(inputs, 0);
  if (start == nullptr) return ok_status();
  const auto first = number_input(inputs, 0), limit = number_input(inputs, 1),
             delta = number_input(inputs, 2);
  Dim count;
  if (first && limit && delta) {
    if (*delta == 0) return invalid_model("input 2 ('delta') is 0");
    const double steps = std::ceil((*limit - *first) / *delta);
    if (steps < static_cast<double>(int64_t{1} << 53))
      count = Dim(steps > 0 ? static_cast<int64_t>(steps) : 0);
  }
  set_output(out, 0, start->element, Shape({count}));
  return ok_status();
}

Status reshape(const Node& node, const InferInputs& inputs, Types& out) {
  const ir::Attribute* dims = node.find("shape");
  const Type* x = tensor_input(inputs, 0);
  if (x == nullptr) return ok_status();
  set_output(out, 0, x->element);
  if (dims == nullptr) return ok_status();
  const Type shape_type =
      Type::tensor(ElementType::kInt64, Shape({Dim(static_cast<int64_t>(dims->ints.size()))}));
  const ir::TensorPtr shape = ir::Tensor::of_ints(dims->ints);
  InferInputs two;
  two.types = {x, &shape_type};
  two.values = {nullptr, shape.get()};
  return infer_as("Reshape", 5, node, two, out);
}

Status split(const Node& node, const InferInputs& inputs, Types& out) {
  const Type* x = tensor_input(inputs, 0);
  if (x == nullptr) return ok_status();
  const ir::Attribute* sizes = node.find("split");
  int64_t axis = node.int_or("axis", 0);
  if (axis < 0) axis += static_cast<int64_t>(x->shape.rank());
  for (size_t i = 0; i < out.size(); ++i) {
    Shape shape = x->shape;
    if (shape.has_rank && axis >= 0 && axis < static_cast<int64_t>(shape.rank())) {
      Dim& dim = shape.dims[static_cast<size_t>(axis)];
      if (sizes != nullptr && i < sizes->ints.size()) {
        dim = Dim(sizes->ints[i]);
      } else {
        dim = inputs.types.size() > 1 ? Dim() : over(dim, static_cast<int64_t>(out.size()));
      }
    }
    set_output(out, i, x->element, std::move(shape));
  }
  return ok_status();
}

Status upsample(const Node& node, const InferInputs& inputs, Types& out) {
  const Type* x = tensor_input(inputs, 0);
  if (x == nullptr) return ok_status();
  const ir::Attribute *height = node.find("height_scale"), *width = node.find("width_scale");
  Shape shape = x->shape;
  if (shape.rank() == 4 && height != nullptr && width != nullptr) {
    auto scale = [](Dim& dim, float factor) {
      if (!dim.known()) return;
      constexpr auto kMost = static_cast<double>(int64_t{1} << 53);
      const double scaled = static_cast<double>(dim.value) * static_cast<double>(factor);
      dim = scaled >= 0 && scaled < kMost ? Dim(static_cast<int64_t>(scaled)) : Dim();
    };
    scale(shape.dims[2], height->f);
    scale(shape.dims[3], width->f);
  }
  set_output(out, 0, x->element, std::move(shape));
  return ok_status();
}

// ---- ai.onnx.ml ----

Status float_like_first(const Node&, const InferInputs& inputs, Types& out) {
  const Type* x = tensor_input(inputs, 0);
  set_output(out, 0, ElementType::kFloat32, x ? x->shape : Shape());
  return ok_status();
}

Status rows_of(const InferInputs& inputs, const Dim& columns, Types& out) {
  const Shape* shape = shape_input(inputs, 0);
  const Dim rows = shape == nullptr ? Dim() : shape->rank() == 1 ? Dim(1) : dim_input(inputs, 0, 0);
  set_output(out, 0, ElementType::kFloat32, Shape({rows, columns}));
  return ok_status();
}

Status linear_regressor(const Node& node, const InferInputs& inputs, Types& out) {
  return rows_of(inputs, Dim(node.int_or("targets", 1)), out);
}
Status svm_regressor(const Node&, const InferInputs& inputs, Types& out) {
  return rows_of(inputs, Dim(1), out);
}
Status tree_regressor(const Node& node, const InferInputs& inputs, Types& out) {
  return rows_of(inputs, node.find("n_targets") ? Dim(node.int_or("n_targets", 1)) : Dim(), out);
}
Status feature_vectorizer(const Node& node, const InferInputs& inputs, Types& out) {
  const ir::Attribute* sizes = node.find("inputdimensions");
  Dim columns;
  if (sizes != nullptr) {
    columns = Dim(0);
    for (const int64_t size : sizes->ints) columns = plus(columns, Dim(size));
  }
  return rows_of(inputs, columns, out);
}

struct Entry {
  int since;
  InferRule rule;
};

}  // namespace

InferRule early_rule(std::string_view name, int since) {
  static const std::multimap<std::string_view, Entry> table = {
      {"Abs", {1, like_first}},
      {"Add", {1, like_first}},  // broadcasting was one-way, to the first input
      {"Attention", {23, infer_attention}},
      {"Attention", {24, infer_attention}},
      {"Attention", {25, infer_attention}},
      {"AveragePool", {10, ceil_pool}},
      {"AveragePool", {11, ceil_pool}},
      {"AveragePool", {19, ceil_pool}},
      {"AveragePool", {22, ceil_pool}},
      {"BatchNormalization", {1, batch_norm}},
      {"Cast", {1, cast}},
      {"Ceil", {1, like_first}},
      {"Clip", {1, like_first}},
      {"Compress", {9, compress}},
      {"Concat", {1, concat}},
      {"ConvTranspose", {1, conv_transpose}},
      {"ConvTranspose", {11, conv_transpose}},
      {"ConvTranspose", {22, conv_transpose}},
      {"Div", {1, like_first}},
      {"Dropout", {1, all_like_first}},
      {"Elu", {1, like_first}},
      {"Exp", {1, like_first}},
      {"FeatureVectorizer", {1, feature_vectorizer}},
      {"Floor", {1, like_first}},
      {"GRU", {1, gru}},
      {"Gemm", {1, gemm}},
      {"GlobalLpPool", {1, global_pool}},
      {"GreaterOrEqual", {12, boolean_broadcast}},
      {"GroupNormalization", {18, like_first}},
      {"GroupNormalization", {21, like_first}},
      {"HardSigmoid", {1, like_first}},
      {"Imputer", {1, like_first}},
      {"InstanceNormalization", {1, like_first}},
      {"LeakyRelu", {1, like_first}},
      {"LessOrEqual", {12, boolean_broadcast}},
      {"LinearRegressor", {1, linear_regressor}},
      {"Log", {1, like_first}},
      {"LpPool", {1, lp_pool}},
      {"LpPool", {18, ceil_pool}},
      {"LpPool", {22, ceil_pool}},
      {"Max", {1, like_first}},
      {"MaxPool", {10, ceil_pool}},
      {"MaxPool", {11, ceil_pool}},
      {"MaxPool", {12, ceil_pool}},
      {"MaxPool", {22, ceil_pool}},
      {"Mean", {1, like_first}},
      {"MeanVarianceNormalization", {9, like_first}},
      {"MeanVarianceNormalization", {13, like_first}},
      {"Min", {1, like_first}},
      {"Mul", {1, like_first}},
      {"Neg", {1, like_first}},
      {"Normalizer", {1, float_like_first}},
      {"PRelu", {1, like_first}},
      {"Pad", {1, pad}},
      {"Range", {11, range}},
      {"Range", {27, range}},
      {"Reciprocal", {1, like_first}},
      {"Relu", {1, like_first}},
      {"Reshape", {1, reshape}},
      {"Resize", {10, infer_resize}},
      {"Resize", {11, infer_resize}},
      {"Resize", {13, infer_resize}},
      {"Resize", {18, infer_resize}},
      {"Resize", {19, infer_resize}},
      {"SVMRegressor", {1, svm_regressor}},
      {"Scaler", {1, float_like_first}},
      {"Selu", {1, like_first}},
      {"Sigmoid", {1, like_first}},
      {"Slice", {10, infer_slice_10}},
      {"Split", {1, split}},
      {"Sqrt", {1, like_first}},
      {"StringNormalizer", {10, infer_string_normalizer}},
      {"Sub", {1, like_first}},
      {"Sum", {1, like_first}},
      {"Tanh", {1, like_first}},
      {"TreeEnsembleRegressor", {1, tree_regressor}},
      {"Upsample", {1, upsample}},
  };
  const auto [begin, end] = table.equal_range(name);
  for (auto entry = begin; entry != end; ++entry) {
    if (entry->second.since == since) return entry->second.rule;
  }
  return nullptr;
}

}  // namespace tenon::ops
