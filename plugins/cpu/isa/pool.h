// Pooling of float32 planes, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace tenon::cpu::isa {

/// The windows of a plane of [in_rows, in_columns]. Windows are cut at the edges of the plane; along the columns
/// their taps are neighbours.
struct PoolPlane {
  int64_t in_rows, in_columns, out_rows, out_columns;
  int64_t row_step;                       // rows between taps
  int64_t kernel_columns, column_stride;  // taps; distance of windows
  int64_t pad_left;                       // columns of the first window before the plane
  int64_t line;                           // floats that the functions need to work in
  const int32_t *first_row, *row_taps;  // per output row: the first row inside the plane, the number of them
  const float *row_weight, *column_weight;  // mean: the sum is divided by the product of both; at least 1

  static constexpr int64_t kLines = 8;  // of which `line` consists

  /// The size of `line`.
  int64_t needed() const {
    const int64_t read = (out_columns + 32) * column_stride + kernel_columns + 64;
    const int64_t written = pad_left + in_columns + 64;
    return kLines * (read > written ? read : written);
  }
};

/// x and y are a plane of the input and one of the output; `line` has plane.line floats.
using PlanePool = void (*)(const PoolPlane& plane, const float* x, float* line, float* y);

struct Pools {
  PlanePool max;   // minus infinity without taps; a NaN counts only as the first tap, and then stays
  PlanePool mean;  // 0 without taps
};

}  // namespace tenon::cpu::isa
