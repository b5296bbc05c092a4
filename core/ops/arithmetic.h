// Arithmetic on numbers and symbols. A symbol is never negative, so only sums, products and quotients of symbols
// get a symbol. Equal expressions get equal symbols. An unknown result is an empty element.
#pragma once

#include "core/ops/shape_values.h"

namespace tenon::ops {

/// Whether tensors of this type can have Elements.
inline bool holds_integers(ir::ElementType type) {
  return type == ir::ElementType::kInt64 || type == ir::ElementType::kInt32 || type == ir::ElementType::kBool;
}

namespace arithmetic {

Element add(const Element& a, const Element& b);
Element subtract(const Element& a, const Element& b);
Element multiply(const Element& a, const Element& b);
/// Truncates towards zero, as ONNX requires for integers.
Element divide(const Element& a, const Element& b);
/// `c_style`: the remainder has the sign of `a`, otherwise the sign of `b`.
Element modulo(const Element& a, const Element& b, bool c_style);
Element minimum(const Element& a, const Element& b);
Element maximum(const Element& a, const Element& b);
Element equal(const Element& a, const Element& b);

}  // namespace arithmetic
}  // namespace tenon::ops
