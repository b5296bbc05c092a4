#include "kernels/common/reduce.h"
#include "kernels/common/wrapping.h"

namespace tenon::cpu {
namespace {

template <class C>
struct Accumulator {
  using Total = std::conditional_t<std::is_floating_point_v<C>, double, C>;
  Total product = 1;
  void add(C x) { product = wrapping_mul<Total>(product, x); }
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
