#include "kernels/common/reduce_fold.h"

#include <cmath>

namespace tenon::cpu {
namespace {

template <class C>
struct Accumulator {
  double total = 0;
  static constexpr auto kFold = &isa::Reductions::sum;
  void join(double part) { total += part; }
  double part() const { return static_cast<double>(total); }
  void add(C x) { total += static_cast<double>(x); }
  C result(int64_t) const { return static_cast<C>(std::log(total)); }
};
struct ReduceLogSumOp {
  static constexpr auto kTypes = kReduceTypes;
  template <class C>
  using Of = Accumulator<C>;
};
TENON_REDUCE_KERNELS(ReduceLogSum, ReduceLogSumOp, 18)

}  // namespace
}  // namespace tenon::cpu
