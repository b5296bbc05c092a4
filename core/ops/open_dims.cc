// Corrects ONNX's inference where it takes an unknown dimension for 0 or for a dimension of an input.
#include "core/ops/rules.h"

namespace tenon::ops {

namespace {

using ir::Dim;
using ir::Shape;
using ir::Type;
using Types = std::vector<Type>;

/// The shape of an output; null unless it is a tensor of that rank.
Shape* output_shape(Types& out, size_t index, size_t rank) {
  if (index >= out.size() || !out[index].is_tensor() || !out[index].shape.has_rank) return nullptr;
  return out[index].shape.rank() == rank ? &out[index].shape : nullptr;
}

}  // namespace

Status infer_attention(const ir::Node& node, const InferInputs& inputs, Types& out) {
  RETURN_IF_ERROR(infer_as(node.op_type, node.since_version, node, inputs, out));
  const Shape *value = shape_input(inputs, 2), *past = shape_input(inputs, 4, 4);
  if (value == nullptr || (value->rank() != 3 && value->rank() != 4)) return ok_status();
  const bool has_past = inputs.types.size() > 4 && inputs.types[4] != nullptr;
  const Dim length = value->dims[value->rank() - 2];
  const Dim total = !has_past ? length : past == nullptr ? Dim() : plus(past->dims[2], length);
  if (Shape* y = output_shape(out, 0, 3); y != nullptr && value->rank() == 3)
    y->dims[2] = times(over(value->dims[2], node.int_or("kv_num_heads", 0)), node.int_or("q_num_heads", 0));
  for (const size_t present : {1, 2})
    if (Shape* shape = output_shape(out, present, 4)) shape->dims[2] = total;
  if (Shape* product = output_shape(out, 3, 4)) product->dims[3] = total;
  return ok_status();
}

Status infer_resize(const ir::Node& node, const InferInputs& inputs, Types& out) {
  const Type* x = tensor_input(inputs, 0);
  for (size_t i = 1; i < inputs.types.size(); ++i) {  // inputs with one entry per axis
    if (x == nullptr || inputs.types[i] == nullptr || inputs.types[i]->shape.is_static()) continue;
    Shape shape = x->shape;
    for (Dim& dim : shape.dims) dim = Dim();
    set_output(out, 0, x->element, std::move(shape));
    return ok_status();
  }
  return infer_as(node.op_type, node.since_version, node, inputs, out);
}

Status infer_string_normalizer(const ir::Node& node, const InferInputs& inputs, Types& out) {
  const Shape* x = shape_input(inputs, 0, 2);
  if (x == nullptr || x->dims[0].known())
    return infer_as(node.op_type, node.since_version, node, inputs, out);
  Type one_row = *inputs.types[0];
  one_row.shape.dims[0] = Dim(1);  // the only valid length
  InferInputs changed = inputs;
  changed.types[0] = &one_row;
  return infer_as(node.op_type, node.since_version, node, changed, out);
}

/// Slice-10 gives an output dimension the symbol of the input dimension that it cuts. The inference of version 11
/// does not, and the operator is the same.
Status infer_slice_10(const ir::Node& node, const InferInputs& inputs, Types& out) {
  return infer_as("Slice", 11, node, inputs, out);
}

}  // namespace tenon::ops
