// Inputs for operators that divide or take means.
#pragma once

#include "tests/ops/op_cases.h"

namespace tenon::test {

/// Halves of both signs, up to 2.5.
inline Tensor halves(Dims dims) {
  Tensor shape;
  shape.dims = dims;
  std::vector<float> values;
  for (int64_t i = 0; i < shape.size(); ++i) values.push_back(static_cast<float>(i * 7 % 11 - 5) / 2);
  return f32(std::move(dims), std::move(values));
}

}  // namespace tenon::test
