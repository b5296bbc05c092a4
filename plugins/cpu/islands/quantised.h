// What operators on quantised tensors share.
#pragma once

#include "islands/byte_product.h"

namespace tenon::cpu::islands {

/// Demands that inputs `scale` and `scale` + 1 of a node are constants of one element; the second may be missing.
inline Check& check_scaling(Check& check, const NodeView& n, int scale) {
  for (int i = scale; i < scale + 2; ++i) {
    if (i > scale && !n.has_input(i)) continue;
    check.that(n.input(i).is_constant() && ep::element_count(n.input(i).dims()) == 1, TENON_REJECT_OTHER,
               "input ", i, " is not one constant number");
  }
  return check.input(scale, kFloat32);
}

/// The scale at input `scale` and the zero point after it, for elements of type `dtype`.
inline Scaling scaling_of(const NodeView& n, int scale, uint32_t dtype) {
  const int32_t zero = n.has_input(scale + 1) ? byte_at(n.input(scale + 1).constant(), 0) : 0;
  return {*n.input(scale).constant().data<float>(),
          static_cast<float>(zero + (dtype == TENON_INT8 ? 128 : 0))};
}

}  // namespace tenon::cpu::islands
