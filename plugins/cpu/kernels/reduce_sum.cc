#include "kernels/common/reduce.h"

namespace tenon::cpu {
namespace {

// Float sums are kept in double, so that many small terms do not vanish beside a large one.
template <class C>
struct Accumulator {
  std::conditional_t<std::is_floating_point_v<C>, double, C> total = 0;
  void add(C x) { total += x; }
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
