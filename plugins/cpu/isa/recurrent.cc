#include "isa/recurrent.h"

#include "isa/math.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

void lstm(const float* __restrict gates, float* __restrict c, float* __restrict h, int64_t n) {
  const float *input = gates, *output = gates + n, *forget = gates + 2 * n, *candidate = gates + 3 * n;
  each_lanes(n, [&](int64_t i, int64_t count) {
    const auto at = [&](const float* x) { return load_part(x + i, count); };
    const Lanes next = fast_sigmoid(at(forget)) * at(c) + fast_sigmoid(at(input)) * fast_tanh(at(candidate));
    store_part(c + i, next, count);
    store_part(h + i, fast_sigmoid(at(output)) * fast_tanh(next), count);
  });
}

void gru(const float* __restrict x, const float* __restrict state, const float* __restrict h,
         float* __restrict next, int64_t n) {
  each_lanes(n, [&](int64_t i, int64_t count) {
    const auto at = [&](const float* from, int64_t gate) { return load_part(from + gate * n + i, count); };
    const Lanes update = fast_sigmoid(at(x, 0) + at(state, 0)), reset = fast_sigmoid(at(x, 1) + at(state, 1));
    const Lanes candidate = fast_tanh(at(x, 2) + reset * at(state, 2));
    store_part(next + i, (1.0f - update) * candidate + update * at(h, 0), count);
  });
}

}  // namespace

void fill_recurrent(Table& table) {
  static const Recurrent kRecurrent = {lstm, gru};
  table.recurrent = &kRecurrent;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
