// What cublasLtMatmul hands to the device's process.
#pragma once

#include "tests/fakes/cuda/library/numbers.h"

namespace fake_cublaslt {

/// A matrix in memory: element (i, j) of batch b lies at i * row_step + j * column_step + b * batch_step.
struct Matrix {
  fake_cuda::Type type = fake_cuda::Type::kNone;
  int32_t range = -1;  // -1: there is none
  int64_t row_step = 0, column_step = 0, batch_step = 0;

  int64_t at(int64_t batch, int64_t row, int64_t column) const {
    return batch * batch_step + row * row_step + column * column_step;
  }
};

enum class Activation : int32_t { kNone, kRelu, kGelu };

/// d = activation(alpha * a * b + beta * c + bias).
struct MatmulWork {
  int64_t rows = 0, columns = 0, depth = 0, batch = 1;
  Matrix a, b, c, d;  // a and b are transposed already
  Matrix bias;        // of d's rows
  fake_cuda::Rounding rounding = fake_cuda::Rounding::kNone;
  fake_cuda::Type scale = fake_cuda::Type::kFloat;
  Activation activation = Activation::kNone;
  int32_t alpha_range = -1, beta_range = -1;  // device memory, if not -1
  double alpha = 1, beta = 0;
  int32_t workspace_range = -1;
  int64_t workspace_bytes = 0;
  bool wraps = false;  // sums of integers wrap around
};

}  // namespace fake_cublaslt

extern "C" const char* tenon_fake_cublaslt_matmul(void* const* memory, const void* arguments, size_t bytes);
