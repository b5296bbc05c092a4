// Products of matrices, summed up in double: cuBLASLt's and those that convolutions are made of.
#pragma once

#include <cstdint>
#include <functional>

namespace fake_cuda {

/// No more columns are loaded at once.
inline constexpr int64_t kMostColumns = 8;

/// sum over k of a(i, k) * b(k, j), for all i < rows and j < columns. The functions copy parts of the operands; they are called
/// by two threads.
struct Product {
  int64_t rows = 0, columns = 0, depth = 0;
  /// to[(k - k0) * stride + i - i0] = a(i, k), for `rows` and `depth` from there.
  std::function<void(double* to, int64_t stride, int64_t i0, int64_t rows, int64_t k0, int64_t depth)> load_a;
  /// to[(k - k0) * stride + j - j0] = b(k, j).
  std::function<void(double* to, int64_t stride, int64_t j0, int64_t columns, int64_t k0, int64_t depth)>
      load_b;
  /// sums[(i - i0) * stride + j - j0] is the result.
  std::function<void(const double* sums, int64_t stride, int64_t i0, int64_t rows, int64_t j0,
                     int64_t columns)>
      store;
};
void multiply(const Product& product);

}  // namespace fake_cuda
