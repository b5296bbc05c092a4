#include "isa/recurrent.h"

#include "isa/math.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

void lstm(const float* __restrict gates, float* __restrict c, float* __restrict h, int64_t n) {
  const float *input = gates, *output = gates + n, *forget = gates + 2 * n, *candidate = gates + 3 * n;
  for (int64_t i = 0; i < n; ++i) {
    const float next = fast_sigmoid(forget[i]) * c[i] + fast_sigmoid(input[i]) * fast_tanh(candidate[i]);
    c[i] = next;
    h[i] = fast_sigmoid(output[i]) * fast_tanh(next);
  }
}

void gru(const float* __restrict x, const float* __restrict state, const float* __restrict h,
         float* __restrict next, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float update = fast_sigmoid(x[i] + state[i]), reset = fast_sigmoid(x[n + i] + state[n + i]);
    const float candidate = fast_tanh(x[2 * n + i] + reset * state[2 * n + i]);
    next[i] = (1.0f - update) * candidate + update * h[i];
  }
}

}  // namespace

void fill_recurrent(Table& table) {
  static const Recurrent kRecurrent = {lstm, gru};
  table.recurrent = &kRecurrent;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
