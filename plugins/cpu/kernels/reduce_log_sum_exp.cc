#include "kernels/common/reduce.h"

#include <cmath>
#include <limits>

namespace tenon::cpu {
namespace {

// Keeps the largest element so far out of the exponentials, so that none overflows.
template <class C>
struct Accumulator {
  double largest = -std::numeric_limits<double>::infinity(), total = 0;
  void add(C element) {
    const double x = static_cast<double>(element);
    if (x <= largest) {
      total += x == largest ? 1 : std::exp(x - largest);
    } else if (x != x) {
      largest = total = x;
    } else {
      total = total * std::exp(largest - x) + 1;
      largest = x;
    }
  }
  C result(int64_t n) const { return static_cast<C>(n == 0 ? largest : largest + std::log(total)); }
};
struct ReduceLogSumExpOp {
  static constexpr auto kTypes = kReduceTypes;
  template <class C>
  using Of = Accumulator<C>;
};
TENON_REDUCE_KERNELS(ReduceLogSumExp, ReduceLogSumExpOp, 18)

}  // namespace
}  // namespace tenon::cpu
