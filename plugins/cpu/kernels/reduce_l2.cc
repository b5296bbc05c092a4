#include "kernels/common/reduce_fold.h"

#include <cmath>

namespace tenon::cpu {
namespace {

template <class C>
struct Accumulator {
  double total = 0;
  static constexpr auto kFold = &isa::Reductions::sum_squares;
  void join(double part) { total += part; }
  double part() const { return static_cast<double>(total); }
  void add(C x) { total += static_cast<double>(x) * static_cast<double>(x); }
  C result(int64_t) const { return static_cast<C>(std::sqrt(total)); }
};
struct ReduceL2Op {
  static constexpr auto kTypes = kReduceTypes;
  template <class C>
  using Of = Accumulator<C>;
};
TENON_REDUCE_KERNELS(ReduceL2, ReduceL2Op, 18)

}  // namespace
}  // namespace tenon::cpu
