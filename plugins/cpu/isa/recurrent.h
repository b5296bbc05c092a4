// The ends of a recurrent network's steps in float32, compiled once per instruction set: what is left to do once the products are
// summed. Activations are ONNX's defaults. Arrays need no alignment and do not overlap.
#pragma once

#include <cstdint>

namespace tenon::cpu::isa {

struct Recurrent {
  /// LSTM of n units: `gates` are the sums i, o, f and c, n each. `c` is replaced by the next one; h is written.
  void (*lstm)(const float* gates, float* c, float* h, int64_t n);
  /// GRU of n units with linear_before_reset: `x` are the input's sums z, r and h, and `state` those of `h`, n each.
  void (*gru)(const float* x, const float* state, const float* h, float* next, int64_t n);
};

}  // namespace tenon::cpu::isa
