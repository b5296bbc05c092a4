// Arithmetic of numbers and symbols. A symbol stands for something that is never negative, so only sums, products and
// quotients of such get one; equal expressions get equal symbols. What is not known gives an empty element.
#pragma once

#include "core/ops/shape_values.h"

namespace tenon::ops {

/// Tensors of these types have Elements.
inline bool holds_integers(ir::ElementType type) {
  return type == ir::ElementType::kInt64 || type == ir::ElementType::kInt32 || type == ir::ElementType::kBool;
}

namespace arithmetic {

Element add(const Element& a, const Element& b);
Element subtract(const Element& a, const Element& b);
Element multiply(const Element& a, const Element& b);
/// Of integers ONNX asks for truncation towards zero.
Element divide(const Element& a, const Element& b);
/// `c_style`: the rest has the sign of `a`, else that of `b`.
Element modulo(const Element& a, const Element& b, bool c_style);
Element minimum(const Element& a, const Element& b);
Element maximum(const Element& a, const Element& b);
Element equal(const Element& a, const Element& b);

}  // namespace arithmetic
}  // namespace tenon::ops
