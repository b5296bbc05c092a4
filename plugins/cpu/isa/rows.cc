// Reductions over one row. Partial results are kept in kLanes lanes, so that loops vectorise without
// reordering sums. The order is the same on every instruction set and for any number of threads.
#include "isa/math.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

constexpr int64_t kLanes = 32;

struct Lanes {
  float at[kLanes];
};

template <class F>
inline float fold(const Lanes& lanes, F f) {
  float part[kLanes];
  for (int64_t j = 0; j < kLanes; ++j) part[j] = lanes.at[j];
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t j = 0; j < width; ++j) part[j] = f(part[j], part[j + width]);
  }
  return part[0];
}

/// Folds with f the values of step(accumulator, i) for i in [0, n), starting at `start`.
template <class Step, class F>
inline float reduce(int64_t n, float start, Step step, F f) {
  Lanes lanes;
  for (int64_t j = 0; j < kLanes; ++j) lanes.at[j] = start;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) lanes.at[j] = step(lanes.at[j], i + j);
  }
  for (int64_t j = 0; i + j < n; ++j) lanes.at[j] = step(lanes.at[j], i + j);
  return fold(lanes, f);
}

inline float plus(float a, float b) { return a + b; }

float dot(const float* a, const float* b, int64_t n) {
  return reduce(
      n, 0.0f, [=](float s, int64_t i) { return s + a[i] * b[i]; }, plus);
}
float sum(const float* x, int64_t n) {
  return reduce(
      n, 0.0f, [=](float s, int64_t i) { return s + x[i]; }, plus);
}
float sum_of_squares(const float* x, int64_t n) {
  return reduce(
      n, 0.0f, [=](float s, int64_t i) { return s + x[i] * x[i]; }, plus);
}
float max_of(const float* x, int64_t n) {
  const auto larger = [](float a, float b) { return select(b > a, b, a); };
  return reduce(
      n, x[0], [=](float s, int64_t i) { return larger(s, x[i]); }, larger);
}
float min_of(const float* x, int64_t n) {
  const auto smaller = [](float a, float b) { return select(b < a, b, a); };
  return reduce(
      n, x[0], [=](float s, int64_t i) { return smaller(s, x[i]); }, smaller);
}

void softmax(const float* x, float* y, int64_t n) {
  const float top = max_of(x, n);
  map_fast(x, y, n, [=](auto v) { return fast_exp(v - top); });
  const float scale = 1.0f / sum(y, n);
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
}

void log_softmax(const float* x, float* y, int64_t n) {
  const float top = max_of(x, n);
  const float total = reduce(
      n, 0.0f, [=](float s, int64_t i) { return s + fast_exp(x[i] - top); }, plus);
  const float shift = __builtin_logf(total);
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - top) - shift;
}

void layer_norm(const float* x, const float* scale, const float* bias, float* y, int64_t n, float epsilon,
                float* out_mean, float* out_inverse_deviation) {
  const float mean = sum(x, n) / static_cast<float>(n);
  const float spread = reduce(
      n, 0.0f, [=](float s, int64_t i) { return s + (x[i] - mean) * (x[i] - mean); }, plus);
  const float inverse = 1.0f / __builtin_sqrtf(spread / static_cast<float>(n) + epsilon);
  if (scale != nullptr && bias != nullptr) {
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inverse * scale[i] + bias[i];
  } else if (scale != nullptr) {
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inverse * scale[i];
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inverse + (bias != nullptr ? bias[i] : 0.0f);
  }
  if (out_mean != nullptr) *out_mean = mean;
  if (out_inverse_deviation != nullptr) *out_inverse_deviation = inverse;
}

double rms_norm(const float* x, const float* scale, float* y, int64_t n, double epsilon) {
  const double mean = static_cast<double>(sum_of_squares(x, n)) / static_cast<double>(n);
  const double inverse = 1 / __builtin_sqrt(mean + epsilon);
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(static_cast<double>(x[i]) * inverse) * scale[i];
  return inverse;
}

}  // namespace

void fill_rows(Table& t) {
  t.dot = dot, t.sum = sum, t.sum_of_squares = sum_of_squares, t.max_of = max_of, t.min_of = min_of;
  t.softmax = softmax, t.log_softmax = log_softmax, t.layer_norm = layer_norm;
  t.rms_norm = rms_norm;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
