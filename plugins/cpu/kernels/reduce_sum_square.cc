#include "kernels/common/reduce.h"

namespace tenon::cpu {
namespace {

template <class C>
struct Accumulator {
  std::conditional_t<std::is_floating_point_v<C>, double, C> total = 0;
  void add(C x) { total += static_cast<decltype(total)>(x) * static_cast<decltype(total)>(x); }
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
