// Running sums and products along an axis: CumSum, CumProd.
#pragma once

#include "kernels/common/scratch.h"

namespace tenon::cpu {

/// Op has `template <class T> static T start()` and `template <class T> static T next(T total, T x)`.
template <class Op>
struct Cumulate {
  static constexpr auto kTypes = kFloatTypes + kIndexTypes + TypeList<uint32_t, uint64_t>();
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kTypes).input(1, kIndexTypes).needs_input(1);
  }

  explicit Cumulate(const NodeView& n)
      : exclusive_(n.attr_i("exclusive", 0) != 0), reverse_(n.attr_i("reverse", 0) != 0) {}

  void prepare(PrepareContext& p) const { p.set_output(0, p.input(0).dims()); }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    const int axis = normalize_axis(only_int(ctx.input(1), "the axis"), x.rank());
    const int64_t inner = count_between(x.dims(), axis + 1, x.rank()), length = x.dim(axis);
    const int64_t lines = count_between(x.dims(), 0, axis) * inner;
    dispatch(kTypes, x.dtype(), [&]<class T>() {
      ctx.parallel_for(lines, std::max<int64_t>(1, kGrainCheap / std::max<int64_t>(1, length)),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end; ++i) {
                           const int64_t first = i / inner * length * inner + i % inner;
                           line(x.data<T>() + first, ctx.output(0).data<T>() + first, length, inner);
                         }
                       });
    });
  }

 private:
  template <class T>
  void line(const T* x, T* y, int64_t n, int64_t stride) const {
    using C = Compute<T>;
    C total = Op::template start<C>();
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = (reverse_ ? n - 1 - i : i) * stride;
      const C value = static_cast<C>(x[at]), before = total;
      total = Op::next(total, value);
      y[at] = static_cast<T>(exclusive_ ? before : total);
    }
  }

  bool exclusive_, reverse_;
};

}  // namespace tenon::cpu
