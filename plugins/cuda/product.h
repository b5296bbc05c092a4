// A matrix product as one or a few calls of cuBLASLt: what it makes of a GemmArgs, and what is left to do to the result.
//
// cuBLASLt's matrices are stored by columns. A tensor stored by rows is the transpose of one stored by columns, so y = a * b is
// asked for as d = left * right with d = y', left = b' and right = a'. Nothing here touches a device.
#pragma once

#include <optional>
#include <vector>

#include "tenon/ep/device/ops/gemm.hpp"

namespace tenon::cuda {

using ep::ops::GemmArgs;
using ep::ops::GemmShape;

/// What else a product depends on.
struct ProductTypes {
  uint32_t in = TENON_FLOAT32;   // of a and b; of y too unless it is TENON_INT8
  uint32_t out = TENON_FLOAT32;  // of y, bias and addend; TENON_INT32 with TENON_INT8
  uint32_t precision = TENON_PRECISION_EXACT;
  bool b_turned = false;  // b is stored by columns: GemmShape::b_depth is the distance of its columns then
};

/// A matrix stored by columns. Strides are in elements.
struct LtMatrix {
  int64_t rows = 0, columns = 0;
  int64_t leading = 0;  // distance of its columns
  int64_t stride = 0;   // distance of the matrices of a batch
};

/// Where the matrices of one call begin, in elements.
struct LtOffsets {
  int64_t left = 0, right = 0, d = 0, bias = 0;
};

/// A product: d = alpha * op(left) * op(right) + beta * c + bias, then Relu.
struct LtProduct {
  enum class Addition { kNone, kBias, kAddend };  // what c is

  LtMatrix left, right, c, d;
  bool left_transposed = false, right_transposed = false;
  int32_t batch = 1;             // products per call
  std::vector<LtOffsets> calls;  // at least one
  float alpha = 1, beta = 0;
  Addition addition = Addition::kNone;
  bool has_bias = false;    // a vector with an element for each row of d
  int64_t bias_stride = 0;  // between the vectors of a batch
  bool relu = false;

  // What a kernel does to y afterwards.
  bool adds_bias_later = false, adds_addend_later = false, clamps_later = false;
  bool is_finished() const { return !adds_bias_later && !adds_addend_later && !clamps_later; }
};

/// The most calls of a product whose batches have no common stride.
inline constexpr int kMostCalls = 16;

/// Nothing where the library cannot or should not do it. `adds`: there is an addend of the shape of y.
std::optional<LtProduct> lt_product(const GemmArgs& args, const ProductTypes& types, bool adds);

/// The name of a product for measured answers: all by which the speed of algorithms is told apart. `alignment`: of the matrices,
/// in bytes. Dims that change little fall together.
std::string question_of(const LtProduct& product, const ProductTypes& types, uint32_t alignment);

}  // namespace tenon::cuda
