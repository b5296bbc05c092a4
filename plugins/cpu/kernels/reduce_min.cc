#include "kernels/common/reduce_fold.h"

#include <limits>

namespace tenon::cpu {
namespace {

template <class C>
struct Accumulator {
  C best = std::numeric_limits<C>::has_infinity ? std::numeric_limits<C>::infinity()
                                                : std::numeric_limits<C>::max();
  // NaN is kept
  void add(C x) { best = x < best || x != x ? x : best; }
  static constexpr auto kFold = &isa::Reductions::min;
  void join(C part) { add(part); }
  C part() const { return best; }
  C result(int64_t) const { return best; }
};
struct ReduceMinOp {
  static constexpr auto kTypes = kReduceOrderTypes;
  template <class C>
  using Of = Accumulator<C>;
};
TENON_REDUCE_KERNELS(ReduceMin, ReduceMinOp, 18)

}  // namespace
}  // namespace tenon::cpu
