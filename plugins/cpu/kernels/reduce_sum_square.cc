#include "kernels/common/reduce_fold.h"
#include "kernels/common/wrapping.h"

namespace tenon::cpu {
namespace {

template <class C>
struct Accumulator {
  using Total = std::conditional_t<std::is_floating_point_v<C>, double, C>;
  Total total = 0;
  static constexpr auto kFold = &isa::Reductions::sum_squares;
  void join(double part) { total += static_cast<Total>(part); }
  double part() const { return static_cast<double>(total); }
  void add(C x) { total = wrapping_add<Total>(total, wrapping_mul<Total>(x, x)); }
  C result(int64_t) const { return static_cast<C>(total); }
};
struct ReduceSumSquareOp {
  static constexpr auto kTypes = kReduceTypes;
  template <class C>
  using Of = Accumulator<C>;
};
TENON_REDUCE_KERNELS(ReduceSumSquare, ReduceSumSquareOp, 18)

}  // namespace
}  // namespace tenon::cpu
