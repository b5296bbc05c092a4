// The error function. The library has it only inside GELU, from which it cannot be recovered near 0.
#include <algorithm>

#include "compiler/builder.h"
#include "openmp/parallel.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define ONEDNN_TARGET(set) __attribute__((target(set)))
#define ONEDNN_INLINE inline __attribute__((always_inline))
#else
#define ONEDNN_INLINE inline
#endif

namespace tenon::onednn {
namespace {

constexpr int64_t kGrain = 8192;

/// x P(x^2) / Q(x^2), fitted for the least relative error over [-3.95, 3.95]: 2.1e-8, and 3.4e-7 with float's
/// rounding. Beyond 3.92 the nearest float is 1. std::min and std::max return their first argument when it is
/// NaN, and compilers vectorise them.
ONEDNN_INLINE float erf_of(float x) {
  constexpr float kLast = 3.92f;
  const float near = std::min(std::max(x, -kLast), kLast);
  const float u = near * near;
  float p = 2.0259220e-06f;
  p = p * u + 2.8468738e-04f;
  p = p * u + 3.8081226e-03f;
  p = p * u + 5.2875325e-02f;
  p = p * u + 1.9154933e-01f;
  p = p * u + 1.1283791f;
  float q = 3.7831927e-05f;
  q = q * u + 1.1707174e-03f;
  q = q * u + 1.5055010e-02f;
  q = q * u + 1.1455923e-01f;
  q = q * u + 5.0308883e-01f;
  q = q * u + 1.0f;
  const float y = near * p / q;
  return std::min(std::max(y, -1.0f), 1.0f);
}

using ErfOf = void (*)(const float* x, float* y, int64_t n);

// One version per vector width. Chosen here instead of by an indirect function, whose resolver the loader
// would call before a sanitizer's runtime is ready.
void erf_of(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = erf_of(x[i]);
}
#ifdef ONEDNN_TARGET
ONEDNN_TARGET("avx2") void erf_of_avx2(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = erf_of(x[i]);
}
ONEDNN_TARGET("avx512f") void erf_of_avx512(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = erf_of(x[i]);
}
#endif

/// The version for the current processor.
ErfOf widest_erf() {
#ifdef ONEDNN_TARGET
  if (__builtin_cpu_supports("avx512f")) return erf_of_avx512;
  if (__builtin_cpu_supports("avx2")) return erf_of_avx2;
#endif
  return erf_of;
}

class Erf : public Operation {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloat32); }
  explicit Erf(const NodeView&) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override { return b.dims(node.inputs[0]); }
  void build(Builder& b, const Node& node) const override {
    const Tensor x = b.compact(b.tensor(node.inputs[0]));
    const bool in_place = b.may_overwrite(node, node.inputs[0]);
    const Tensor y = in_place ? b.overwrite(node.outputs[0], x) : b.create(node.outputs[0], x.layout);
    const auto n = static_cast<int64_t>(x.layout.bytes() / sizeof(float));  // padding included
    b.local({x, y}, [n, erf = widest_erf()](std::span<void* const> addresses) {
      const auto* from = static_cast<const float*>(addresses[0]);
      auto* to = static_cast<float*>(addresses[1]);
      parallel(n, kGrain, [&](int64_t begin, int64_t end) { erf(from + begin, to + begin, end - begin); });
    });
  }
  double bound(const Builder&, const Node&) const override { return 1; }
};
ONEDNN_OPERATOR(Erf, .op_type = "Erf", .contract = "input: any")

}  // namespace
}  // namespace tenon::onednn
