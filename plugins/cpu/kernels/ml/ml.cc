#include "kernels/ml/ml.h"

#include <cmath>

namespace tenon::cpu {
namespace {

PostTransform transform_named(const std::string& name) {
  if (name == "NONE") return PostTransform::kNone;
  if (name == "SOFTMAX") return PostTransform::kSoftmax;
  if (name == "LOGISTIC") return PostTransform::kLogistic;
  if (name == "SOFTMAX_ZERO") return PostTransform::kSoftmaxZero;
  require(name == "PROBIT", TENON_INVALID_ARGUMENT, "post_transform '", name, "' is unknown");
  return PostTransform::kProbit;
}

/// The inverse of the normal distribution's cumulative function, with Winitzki's closed form of inverse erf,
/// as in other runtimes.
double probit(double p) {
  constexpr double kA = 0.147, kPi = 3.14159265358979323846;
  const double x = 2 * p - 1, log_term = std::log((1 - x) * (1 + x));
  const double v = 2 / (kPi * kA) + 0.5 * log_term;
  return std::copysign(std::sqrt(2.0), x) * std::sqrt(std::sqrt(v * v - log_term / kA) - v);
}

/// With `keep_zeros`, scores of zero stay zero.
void softmax(std::span<double> scores, bool keep_zeros) {
  constexpr double kZero = 1e-7;
  const double top = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& s : scores) {
    s = keep_zeros && std::fabs(s) <= kZero ? 0 : std::exp(s - top);
    sum += s;
  }
  for (double& s : scores) s = sum == 0 ? 0.5 : s / sum;
}

}  // namespace

PostTransform post_transform_of(const NodeView& n) {
  if (n.op() != "TreeEnsemble") return transform_named(n.attr_s("post_transform", "NONE"));
  const int64_t number = n.attr_i("post_transform", 0);
  require(number >= 0 && number <= 4, TENON_INVALID_ARGUMENT, "post_transform ", number, " is unknown");
  return static_cast<PostTransform>(number);
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

void apply_transform(PostTransform transform, std::span<double> scores) {
  if (scores.empty()) return;
  switch (transform) {
    case PostTransform::kNone:
      return;
    case PostTransform::kLogistic:
      for (double& s : scores) s = logistic(s);
      return;
    case PostTransform::kProbit:
      for (double& s : scores) s = probit(s);
      return;
    case PostTransform::kSoftmax:
    case PostTransform::kSoftmaxZero:
      return softmax(scores, transform == PostTransform::kSoftmaxZero);
  }
}

std::array<double, 2> two_scores(PostTransform transform, double score, bool symmetric) {
  if (transform == PostTransform::kLogistic) return {logistic(-score), logistic(score)};
  std::array<double, 2> out{symmetric ? -score : 1 - score, score};
  if (transform == PostTransform::kProbit) apply_transform(transform, out);
  return out;
}

Rows rows_of(DimsView dims) { return dims.size() == 1 ? Rows{1, dims[0]} : Rows{dims[0], dims[1]}; }

const float* numbers_as_float(const Context& ctx, TensorView from) {
  if (from.dtype() == TENON_FLOAT32) return from.data<float>();
  auto* out = ctx.scratch<float>(from.size());
  dispatch(kMlNumbers, from.dtype(), [&]<class T>() {
    const T* in = from.data<T>();
    ctx.parallel_for(from.size(), kGrainCheap, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = static_cast<float>(in[i]);
    });
  });
  return out;
}

void ClassLabels::write(const Context& ctx, int output, std::span<const int32_t> winners) const {
  if (!ctx.has_output(output)) return;
  const auto rows = static_cast<int64_t>(winners.size());
  if (are_strings()) {
    StringBuilder labels;
    for (const int32_t winner : winners) labels.add(strings_[static_cast<size_t>(winner)]);
    return ctx.set_strings(output, Dims{rows}, labels);
  }
  auto* out = ctx.output(output).data<int64_t>();
  for (const int32_t winner : winners) *out++ = ints_[static_cast<size_t>(winner)];
}

}  // namespace tenon::cpu
