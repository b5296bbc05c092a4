#include "kernels/common/gemm.h"
#include "kernels/common/broadcast.h"
#include "kernels/common/convert.h"
#include "kernels/common/scratch.h"

namespace tenon::cpu {
namespace {

struct GemmState {
  int64_t m = 0, n = 0, k = 0;
  Broadcast<1> bias;
};

// y = alpha * a * b + beta * c.
struct GemmKernel {
  using State = GemmState;
  static constexpr auto kTypes = kNumericTypes;

  static Support supports(const NodeView& n) {
    return Check(n).needs_input(0).needs_input(1).inputs(0, kTypes).rank(0, 2, 2).rank(1, 2, 2);
  }
  explicit GemmKernel(const NodeView& n)
      : alpha_(n.attr_f("alpha", 1.0f)),
        beta_(n.attr_f("beta", 1.0f)),
        a_transposed_(n.attr_i("transA", 0) != 0),
        b_transposed_(n.attr_i("transB", 0) != 0) {}

  State prepare(PrepareContext& p) const {
    const DimsView a = p.input(0).dims(), b = p.input(1).dims();
    State s;
    s.m = a[a_transposed_ ? 1 : 0];
    s.k = a[a_transposed_ ? 0 : 1];
    s.n = b[b_transposed_ ? 0 : 1];
    require(b[b_transposed_ ? 1 : 0] == s.k, TENON_INVALID_ARGUMENT, "shapes ", a, " and ", b,
            " do not multiply");
    const int64_t out[] = {s.m, s.n};
    if (p.has_input(2)) {
      const Dims both = broadcast_dims(out, p.input(2).dims());
      require(std::equal(both.begin(), both.end(), out, out + 2), TENON_INVALID_ARGUMENT,
              "input C has shape ", p.input(2).dims(), " but the product ", DimsView(out));
      s.bias = Broadcast<1>(out, {p.input(2).dims()});
    }
    p.set_output(0, out);
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    const TensorView a = ctx.input(0), b = ctx.input(1), c = ctx.input(2);
    const OutputTensor y = ctx.output(0);
    if (y.size() == 0) return;
    dispatch(kTypes, a.dtype(), [&]<class T>() {
      if constexpr (std::is_floating_point_v<T>) {
        multiply(ctx, s, a.data<T>(), b.data<T>(), c.present() ? c.data<T>() : nullptr, y.data<T>());
      } else if constexpr (kIsFloat<T>) {
        auto* out = ctx.scratch<float>(y.size());
        multiply(ctx, s, as_float<T>(ctx, a), as_float<T>(ctx, b),
                 c.present() ? as_float<T>(ctx, c) : nullptr, out);
        store_float<T>(ctx, out, y);
      } else {
        multiply_integers(ctx, s, a.data<T>(), b.data<T>(), c.present() ? c.data<T>() : nullptr, y.data<T>());
      }
    });
  }

 private:
  // When alpha is 1, the product is added to beta * c. Otherwise it is scaled first, then beta * c is added.
  template <class T>
  void multiply(const Context& ctx, const State& s, const T* a, const T* b, const T* c, T* y) const {
    const bool bias_first = alpha_ == 1.0f && c != nullptr;
    if (bias_first) add_bias(ctx, s, c, y, false);
    gemm<T>(ctx, {s.m, s.n, s.k, a, a_transposed_ ? s.m : s.k, a_transposed_, b, b_transposed_ ? s.k : s.n,
                  b_transposed_, y, s.n, bias_first});
    if (alpha_ != 1.0f) {
      const T alpha = static_cast<T>(alpha_);
      ctx.parallel_for(s.m * s.n, kGrainCheap, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y[i] *= alpha;
      });
      if (c != nullptr) add_bias(ctx, s, c, y, true);
    }
  }

  template <class T>
  void add_bias(const Context& ctx, const State& s, const T* c, T* y, bool add) const {
    const T beta = static_cast<T>(beta_);
    s.bias.parallel(ctx, kGrainCheap, [&](const std::array<int64_t, 1>& at, int64_t out, int64_t n) {
      const T* from = c + at[0];
      const int64_t stride = s.bias.run_strides[0];
      for (int64_t i = 0; i < n; ++i) y[out + i] = (add ? y[out + i] : T(0)) + beta * from[i * stride];
    });
  }

  // Exact when the scales are 1, otherwise through double.
  template <class T>
  void multiply_integers(const Context& ctx, const State& s, const T* a, const T* b, const T* c, T* y) const {
    const std::span<int64_t> bias = scratch_list<int64_t>(ctx, c == nullptr ? 0 : s.m * s.n);
    if (c != nullptr) {
      s.bias.for_runs(0, s.bias.runs, [&](const std::array<int64_t, 1>& at, int64_t out) {
        for (int64_t i = 0; i < s.bias.run; ++i)
          bias[static_cast<size_t>(out + i)] = static_cast<int64_t>(c[at[0] + i * s.bias.run_strides[0]]);
      });
    }
    for (int64_t i = 0; i < s.m; ++i) {
      ctx.check_cancelled();
      for (int64_t j = 0; j < s.n; ++j) {
        uint64_t sum = 0;
        for (int64_t t = 0; t < s.k; ++t) {
          sum += static_cast<uint64_t>(a[a_transposed_ ? t * s.m + i : i * s.k + t]) *
                 static_cast<uint64_t>(b[b_transposed_ ? j * s.k + t : t * s.n + j]);
        }
        const int64_t extra = c == nullptr ? 0 : bias[static_cast<size_t>(i * s.n + j)];
        if (alpha_ == 1.0f && beta_ == 1.0f) {
          y[i * s.n + j] = static_cast<T>(sum + static_cast<uint64_t>(extra));
        } else {
          const double value = static_cast<double>(alpha_) * static_cast<double>(static_cast<T>(sum)) +
                               static_cast<double>(beta_) * static_cast<double>(extra);
          y[i * s.n + j] = static_cast<T>(static_cast<int64_t>(value));
        }
      }
    }
  }

  float alpha_, beta_;
  bool a_transposed_, b_transposed_;
};
TENON_KERNEL(GemmKernel, .op_type = "Gemm", .contract = "A: rank 2; B: rank 2; C?: rank 0..2")

}  // namespace
}  // namespace tenon::cpu
