// Resizing rows of float32, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace tenon::cpu::isa {

/// How a row of `in` elements becomes one of `out`: y[i] is the sum of weight[t][i] * x[index[t][i]] over `taps`.
struct ResizeRow {
  static constexpr int64_t kBlock = 16;  // outputs

  int64_t in, out, taps;
  int64_t padded;        // `out`, rounded up to whole blocks: what is beyond `out` has indices too
  const int32_t* index;  // [taps, padded]
  const float* weight;   // [taps, padded]; NULL: one tap, whose element is copied whatever its 32 bits mean
  const int32_t* base;   // per block an index such that all of its taps are in [base, base + 32); or NULL
};

struct Resampling {
  void (*row)(const ResizeRow& row, const float* x, float* y);
  /// y[i] = the sum of weights[t] * x[offsets[t] + i] over the taps.
  void (*blend)(const float* x, const int64_t* offsets, const float* weights, int64_t taps, float* y,
                int64_t n);
};

}  // namespace tenon::cpu::isa
