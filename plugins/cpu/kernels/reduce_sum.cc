#include "kernels/common/reduce_fold.h"
#include "kernels/common/wrapping.h"

namespace tenon::cpu {
namespace {

// Float sums are kept in double, so that many small terms do not vanish beside a large one.
template <class C>
struct Accumulator {
  using Total = std::conditional_t<std::is_floating_point_v<C>, double, C>;
  Total total = 0;
  static constexpr auto kFold = &isa::Reductions::sum;
  void join(double part) { total += static_cast<Total>(part); }
  double part() const { return static_cast<double>(total); }
  void add(C x) { total = wrapping_add<Total>(total, x); }
  C result(int64_t) const { return static_cast<C>(total); }
};
struct ReduceSumOp {
  static constexpr auto kTypes = kReduceTypes;
  template <class C>
  using Of = Accumulator<C>;
};
TENON_REDUCE_KERNELS(ReduceSum, ReduceSumOp, 13)

}  // namespace
}  // namespace tenon::cpu
