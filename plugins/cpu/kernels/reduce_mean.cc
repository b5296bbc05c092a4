#include "kernels/common/reduce_fold.h"
#include "kernels/common/wrapping.h"

namespace tenon::cpu {
namespace {

template <class C>
struct Accumulator {
  using Total = std::conditional_t<std::is_floating_point_v<C>, double, C>;
  Total total = 0;
  static constexpr auto kFold = &isa::Reductions::sum;
  void join(double part) { total += static_cast<Total>(part); }
  double part() const { return static_cast<double>(total); }
  void add(C x) { total = wrapping_add<Total>(total, x); }
  // Without elements: NaN, or 0 for integers.
  C result(int64_t n) const {
    if constexpr (std::is_floating_point_v<C>)
      return static_cast<C>(total / static_cast<double>(n));
    else
      return n == 0 ? C{0} : static_cast<C>(total / static_cast<C>(n));
  }
};
struct ReduceMeanOp {
  static constexpr auto kTypes = kReduceTypes;
  template <class C>
  using Of = Accumulator<C>;
};
TENON_REDUCE_KERNELS(ReduceMean, ReduceMeanOp, 18)

}  // namespace
}  // namespace tenon::cpu
