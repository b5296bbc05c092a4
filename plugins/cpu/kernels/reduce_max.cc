#include "kernels/common/reduce_fold.h"

#include <limits>

namespace tenon::cpu {
namespace {

template <class C>
struct Accumulator {
  C best = std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity()
                                                : std::numeric_limits<C>::lowest();
  // NaN is kept
  void add(C x) { best = x > best || x != x ? x : best; }
  static constexpr auto kFold = &isa::Reductions::max;
  void join(C part) { add(part); }
  C part() const { return best; }
  C result(int64_t) const { return best; }
};
struct ReduceMaxOp {
  static constexpr auto kTypes = kReduceOrderTypes;
  template <class C>
  using Of = Accumulator<C>;
};
TENON_REDUCE_KERNELS(ReduceMax, ReduceMaxOp, 18)

}  // namespace
}  // namespace tenon::cpu
