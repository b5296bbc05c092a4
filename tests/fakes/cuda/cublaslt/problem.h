// The rules of cublasLtMatmul: what its descriptors may say together.
#pragma once

#include "descriptors.h"
#include "work.h"

namespace fake_cublaslt {

/// A product that the library can do.
struct Problem {
  MatmulWork work;
  const Operation* operation = nullptr;
  const Layout *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr;
  bool is_integer = false;

  int64_t bytes_of(const Matrix& matrix) const { return fake_cuda::bytes_of(matrix.type); }
};

/// INVALID_VALUE for what contradicts itself, NOT_SUPPORTED for what no algorithm does. Without `c` it is as `d`.
cublasStatus_t problem_of(cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                          cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, Problem* out);

/// Whether there is such a row in the table of types.
bool are_types_supported(int compute, int scale, int a, int b, int c, int d);

/// From the first byte to behind the last one.
int64_t extent_of(const Matrix& matrix, int64_t rows, int64_t columns, int64_t batch);

}  // namespace fake_cublaslt
