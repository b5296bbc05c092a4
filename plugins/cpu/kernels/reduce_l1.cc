#include "kernels/common/reduce_fold.h"
#include "kernels/common/wrapping.h"

namespace tenon::cpu {
namespace {

template <class C>
struct Accumulator {
  using Total = std::conditional_t<std::is_floating_point_v<C>, double, C>;
  Total total = 0;
  static constexpr auto kFold = &isa::Reductions::sum_abs;
  void join(double part) { total += static_cast<Total>(part); }
  double part() const { return static_cast<double>(total); }
  void add(C x) { total = wrapping_add<Total>(total, x < C{0} ? wrapping_sub(C{0}, x) : x); }
  C result(int64_t) const { return static_cast<C>(total); }
};
struct ReduceL1Op {
  static constexpr auto kTypes = kReduceTypes;
  template <class C>
  using Of = Accumulator<C>;
};
TENON_REDUCE_KERNELS(ReduceL1, ReduceL1Op, 18)

}  // namespace
}  // namespace tenon::cpu
