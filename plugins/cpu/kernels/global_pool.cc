#include <cmath>

#include "isa/reduce.h"
#include "kernels/common/convert.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

// One number for each (batch, channel): the window is the whole plane.
template <class Reduce>
class GlobalPool {
 public:
  explicit GlobalPool(const NodeView& n) : reduce_(n) {}
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloatTypes).rank(0, 2); }

  void prepare(PrepareContext& p) const {
    const DimsView in = p.input(0).dims();
    Dims out(in.size(), 1);
    for (size_t d = 0; d < 2 && d < in.size(); ++d) out[d] = in[d];
    p.set_output(0, out);
  }
  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const int64_t planes = in.dim(0) * in.dim(1), size = count_between(in.dims(), 2, in.rank());
    dispatch(kFloatTypes, in.dtype(), [&]<class T>() {
      const T* x = in.data<T>();
      T* y = ctx.output(0).template data<T>();
      ctx.parallel_for(planes, std::max<int64_t>(1, kGrainCheap / std::max<int64_t>(1, size)),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t p = begin; p < end; ++p)
                           y[p] = static_cast<T>(static_cast<Compute<T>>(reduce_(x + p * size, size)));
                       });
    });
  }

 private:
  Reduce reduce_;
};

struct Mean {
  explicit Mean(const NodeView&) {}
  template <class T>
  double operator()(const T* x, int64_t n) const {
    double total = 0;
    if constexpr (std::is_same_v<T, float>) {
      total = isa_table().reduce->sum.line(x, n);
    } else {
      for (int64_t i = 0; i < n; ++i) total += static_cast<double>(static_cast<Compute<T>>(x[i]));
    }
    return total / static_cast<double>(n);
  }
};

struct Largest {
  explicit Largest(const NodeView&) {}
  template <class T>
  Compute<T> operator()(const T* x, int64_t n) const {
    auto best = -std::numeric_limits<Compute<T>>::infinity();
    if constexpr (std::is_same_v<T, float>) {
      if (n > 0) best = isa_table().max_of(x, n);
      if (best == best) return best;
      best = -std::numeric_limits<float>::infinity();  // the first is NaN, which does not count
    }
    for (int64_t i = 0; i < n; ++i) best = std::max(best, static_cast<Compute<T>>(x[i]));
    return best;
  }
};

struct Norm {
  explicit Norm(const NodeView& n)
      : p(n.since_version() < 2 ? double{n.attr_f("p", 2)} : static_cast<double>(n.attr_i("p", 2))) {}
  template <class T>
  double operator()(const T* x, int64_t n) const {
    double total = 0;
    for (int64_t i = 0; i < n; ++i)
      total += std::pow(std::abs(static_cast<double>(static_cast<Compute<T>>(x[i]))), p);
    return std::pow(total, 1 / p);
  }
  double p;
};

using GlobalAveragePool = GlobalPool<Mean>;
using GlobalMaxPool = GlobalPool<Largest>;
using GlobalLpPool = GlobalPool<Norm>;

TENON_KERNEL(GlobalAveragePool, .op_type = "GlobalAveragePool", .contract = "X: rank 2..")
TENON_KERNEL(GlobalMaxPool, .op_type = "GlobalMaxPool", .contract = "X: rank 2..")
TENON_KERNEL(GlobalLpPool, .op_type = "GlobalLpPool", .contract = "X: rank 2..")

}  // namespace
}  // namespace tenon::cpu
