#include "kernels/common/reduce.h"

namespace tenon::cpu {
namespace {

template <class C>
struct Accumulator {
  std::conditional_t<std::is_floating_point_v<C>, double, C> product = 1;
  void add(C x) { product *= x; }
  C result(int64_t) const { return static_cast<C>(product); }
};
struct ReduceProdOp {
  static constexpr auto kTypes = kReduceTypes;
  template <class C>
  using Of = Accumulator<C>;
};
TENON_REDUCE_KERNELS(ReduceProd, ReduceProdOp, 18)

}  // namespace
}  // namespace tenon::cpu
