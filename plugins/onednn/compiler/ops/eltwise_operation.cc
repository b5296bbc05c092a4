#include <algorithm>
#include <cmath>

#include "compiler/ops/eltwise.h"
#include "openmp/parallel.h"

namespace tenon::onednn {
namespace {

constexpr int64_t kGrain = 16384;

/// Puts NaN into the result where the input is NaN, for functions of the library that return a number there.
void keep_nan(std::span<void* const> addresses, int64_t n) {
  const auto* x = static_cast<const float*>(addresses[0]);
  auto* y = static_cast<float*>(addresses[1]);
  parallel(n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = x[i] != x[i] ? x[i] : y[i];
  });
}

/// A bound on f for arguments of magnitude up to `x`.
double bound_of(const Pointwise& f, double x) {
  const double alpha = std::fabs(f.alpha), beta = std::fabs(f.beta);
  switch (f.eltwise) {
    case Eltwise::kRelu:
      return std::max(1.0, alpha) * x;
    case Eltwise::kElu:
      return std::max(x, alpha);
    case Eltwise::kAbs:
    case Eltwise::kRound:
    case Eltwise::kSwish:
    case Eltwise::kHardSwish:
    case Eltwise::kGeluErf:
    case Eltwise::kGeluTanh:
      return x + 1;
    case Eltwise::kLinear:
      return alpha * x + beta;
    case Eltwise::kClip:
      return std::min(std::max(alpha, beta), std::max({x, double{f.alpha}, -double{f.beta}}));
    case Eltwise::kTanh:
    case Eltwise::kLogistic:
      return 1;
    default:
      return kUnbounded;
  }
}

void relu(std::span<void* const> addresses, int64_t n) {
  const auto* x = static_cast<const float*>(addresses[0]);
  auto* y = static_cast<float*>(addresses[1]);
  parallel(n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = x[i] < 0 ? 0 : x[i];
  });
}

}  // namespace

Dims EltwiseOperation::shape(const Builder& b, const Node& node, size_t) const {
  return b.dims(node.inputs[0]);
}

double EltwiseOperation::bound(const Builder& b, const Node& node) const {
  double x = b.bound(node.inputs[0]);
  for (const Pointwise& f : functions_) x = bound_of(f, x);
  return x;
}

void EltwiseOperation::build(Builder& b, const Node& node) const {
  const bool all_exact =
      std::all_of(functions_.begin(), functions_.end(), [](const Pointwise& f) { return f.exact; });
  const bool exact = all_exact || b.is_tame(node.inputs[0]);
  const Tensor x = b.compact(exact ? b.kept(node.inputs[0]) : b.tensor(node.inputs[0]));
  const bool is_relu =
      functions_.size() == 1 && functions_[0].eltwise == Eltwise::kRelu && functions_[0].alpha == 0;
  const bool in_place = (exact || is_relu) && b.may_overwrite(node, node.inputs[0]);
  const Tensor y = in_place ? b.overwrite(node.outputs[0], x) : b.create(node.outputs[0], x.layout);
  const auto n = static_cast<int64_t>(x.layout.bytes() / sizeof(float));  // padding included
  if (!exact && is_relu) {
    b.local({x, y}, [n](std::span<void* const> addresses) { relu(addresses, n); });
    return;
  }
  // The order of elements does not matter: without gaps, one long row gives the same result fastest.
  const Layout row = Layout::plain(x.layout.type(), Dims{x.layout.elements()});
  const Layout layout = x.layout.is_dense() ? row : x.layout;
  const Tensor* from = &x;
  for (const Pointwise& f : functions_) {
    b.call(make_eltwise(b.engine(), f.eltwise, f.alpha, f.beta, layout),
           {{kSource, *from}, {kDestination, y}});
    from = &y;
  }
  if (!exact) b.local({x, y}, [n](std::span<void* const> addresses) { keep_nan(addresses, n); });
}

}  // namespace tenon::onednn
