#include "kernels/common/broadcast.h"
#include "kernels/common/convert.h"
#include "kernels/common/gemm.h"

namespace tenon::cpu {
namespace {

/// What MatMul does for one signature: `count` products of [m, k] by [k, n].
struct MatMulState {
  int64_t m = 1, n = 1, k = 1;
  int64_t size = 0;                  // elements of the output
  std::vector<int64_t> left, right;  // where the factors of each product begin
  int64_t count() const { return static_cast<int64_t>(left.size()); }
};

struct MatMul {
  using State = MatMulState;
  static constexpr auto kTypes = kNumericTypes;

  static Support supports(const NodeView& n) {
    return Check(n).needs_input(0).needs_input(1).input(0, kTypes).input(1, kTypes).rank(0, 1).rank(1, 1);
  }

  State prepare(PrepareContext& p) const {
    const DimsView a = p.input(0).dims(), b = p.input(1).dims();
    require(!a.empty() && !b.empty(), TENON_INVALID_ARGUMENT, "scalars cannot be multiplied as matrices");
    State s;
    s.m = a.size() == 1 ? 1 : a[a.size() - 2];
    s.k = a.back();
    s.n = b.size() == 1 ? 1 : b.back();
    const int64_t inner = b.size() == 1 ? b[0] : b[b.size() - 2];
    require(inner == s.k, TENON_INVALID_ARGUMENT, "shapes ", a, " and ", b, " do not multiply");

    const DimsView a_batch = a.first(a.size() < 2 ? 0 : a.size() - 2),
                   b_batch = b.first(b.size() < 2 ? 0 : b.size() - 2);
    Dims out = broadcast_dims(a_batch, b_batch);
    const int64_t count = element_count(out);
    if (element_count(b_batch) == 1 && element_count(a_batch) == count) {
      s.m *= count;  // one right factor: the left ones are one tall matrix
      s.left = {0}, s.right = {0};
    } else {
      each_pair(out, a_batch, b_batch, s);
    }
    if (a.size() > 1) out.push_back(a[a.size() - 2]);
    if (b.size() > 1) out.push_back(b.back());
    s.size = element_count(out);
    p.set_output(0, out);
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    const TensorView a = ctx.input(0), b = ctx.input(1);
    const OutputTensor y = ctx.output(0);
    if (s.size == 0) return;
    dispatch(kTypes, a.dtype(), [&]<class T>() {
      if constexpr (std::is_floating_point_v<T>) {
        multiply(ctx, s, a.data<T>(), b.data<T>(), y.data<T>());
      } else if constexpr (kIsFloat<T>) {
        auto* product = ctx.scratch<float>(s.size);
        multiply(ctx, s, as_float<T>(ctx, a), as_float<T>(ctx, b), product);
        store_float<T>(ctx, product, y);
      } else {
        multiply_integers(ctx, s, a.data<T>(), b.data<T>(), y.data<T>());
      }
    });
  }

 private:
  static void each_pair(DimsView out, DimsView a, DimsView b, State& s) {
    const Broadcast<2> batch(out, {a, b});
    if (batch.run == 0) return;
    batch.for_runs(0, batch.runs, [&](const std::array<int64_t, 2>& at, int64_t) {
      for (int64_t i = 0; i < batch.run; ++i) {
        s.left.push_back((at[0] + i * batch.steps[0]) * s.m * s.k);
        s.right.push_back((at[1] + i * batch.steps[1]) * s.k * s.n);
      }
    });
  }

  template <class T>
  static void multiply(const Context& ctx, const State& s, const T* a, const T* b, T* y) {
    gemm_batch<T>(ctx, s.count(), [&](int64_t i) {
      const auto at = static_cast<size_t>(i);
      return isa::Gemm<T>{
          s.m, s.n,  s.k, a + s.left[at], s.k, false, b + s.right[at], s.n, false, y + i * s.m * s.n,
          s.n, false};
    });
  }

  // Integers wrap around, so the sums are unsigned.
  template <class T>
  static void multiply_integers(const Context& ctx, const State& s, const T* a, const T* b, T* y) {
    const int64_t rows = s.count() * s.m;
    ctx.parallel_for(rows, std::max<int64_t>(1, kGrainCheap / std::max<int64_t>(1, s.n * s.k)),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t row = begin; row < end; ++row) {
                         const T* left = a + s.left[static_cast<size_t>(row / s.m)] + row % s.m * s.k;
                         const T* right = b + s.right[static_cast<size_t>(row / s.m)];
                         for (int64_t j = 0; j < s.n; ++j) {
                           uint64_t sum = 0;
                           for (int64_t i = 0; i < s.k; ++i)
                             sum +=
                                 static_cast<uint64_t>(left[i]) * static_cast<uint64_t>(right[i * s.n + j]);
                           y[row * s.n + j] = static_cast<T>(sum);
                         }
                       }
                     });
  }
};
TENON_KERNEL(MatMul, .op_type = "MatMul")

}  // namespace
}  // namespace tenon::cpu
