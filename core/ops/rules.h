// Building blocks of our own inference rules. Internal to core/ops.
#pragma once

#include "core/ops/infer.h"

namespace tenon::ops {

/// The type of the input when it is a tensor of known element type, otherwise null.
inline const ir::Type* tensor_input(const InferInputs& inputs, size_t index) {
  if (index >= inputs.types.size() || inputs.types[index] == nullptr) return nullptr;
  const ir::Type& type = *inputs.types[index];
  return type.is_tensor() && type.element != ir::ElementType::kUndefined ? &type : nullptr;
}

/// Its shape when the rank is known (and is `rank`, unless that is negative), otherwise null.
inline const ir::Shape* shape_input(const InferInputs& inputs, size_t index, int rank = -1) {
  const ir::Type* type = tensor_input(inputs, index);
  if (type == nullptr || !type->shape.has_rank) return nullptr;
  return rank < 0 || type->shape.rank() == static_cast<size_t>(rank) ? &type->shape : nullptr;
}

inline ir::Dim dim_input(const InferInputs& inputs, size_t index, size_t dim) {
  const ir::Shape* shape = shape_input(inputs, index);
  return shape == nullptr || dim >= shape->rank() ? ir::Dim() : shape->dims[dim];
}

inline ir::Dim times(const ir::Dim& a, int64_t b) {
  int64_t product = 0;
  if (b == 1) return a;
  if (!a.known() || b < 0 || __builtin_mul_overflow(a.value, b, &product)) return {};
  return ir::Dim(product);
}

inline ir::Dim over(const ir::Dim& a, int64_t b) {
  if (b == 1) return a;
  return a.known() && b > 0 ? ir::Dim(a.value / b) : ir::Dim();
}

/// The dimension plus `change`, which may be negative. Unknown when the sum is below 0.
inline ir::Dim changed(const ir::Dim& a, int64_t change) {
  int64_t sum = 0;
  if (!a.known() || __builtin_add_overflow(a.value, change, &sum) || sum < 0) return {};
  return ir::Dim(sum);
}

inline ir::Dim plus(const ir::Dim& a, const ir::Dim& b) {
  int64_t sum = 0;
  if (!a.known() || !b.known() || __builtin_add_overflow(a.value, b.value, &sum)) return {};
  return ir::Dim(sum);
}

inline void set_output(std::vector<ir::Type>& out, size_t index, ir::ElementType element,
                       ir::Shape shape = {}) {
  if (index < out.size()) out[index] = ir::Type::tensor(element, std::move(shape));
}

/// Output 0 gets the type of input 0.
Status like_first(const ir::Node& node, const InferInputs& inputs, std::vector<ir::Type>& out);
/// Output 0 gets the shape of inputs `a` and `b` broadcast to each other.
Status broadcast(const InferInputs& inputs, size_t a, size_t b, ir::ElementType element,
                 std::vector<ir::Type>& out);
/// Output 0 is the matrix product of inputs `a` and `b`, transposed first where asked.
Status matrix_product(const InferInputs& inputs, size_t a, size_t b, bool transpose_a, bool transpose_b,
                      ir::ElementType element, std::vector<ir::Type>& out);

// Complete rules, for inputs with unknown dimensions (open_dims.cc).

/// Attention: the total length of past and present, and the width of a result of rank 3.
Status infer_attention(const ir::Node& node, const InferInputs& inputs, std::vector<ir::Type>& out);
/// Resize: only the rank is known while the length of a list input is not.
Status infer_resize(const ir::Node& node, const InferInputs& inputs, std::vector<ir::Type>& out);
/// StringNormalizer: a matrix has one row.
Status infer_string_normalizer(const ir::Node& node, const InferInputs& inputs, std::vector<ir::Type>& out);
/// Slice-10: a dimension that is cut does not keep the symbol of the input.
Status infer_slice_10(const ir::Node& node, const InferInputs& inputs, std::vector<ir::Type>& out);

}  // namespace tenon::ops
