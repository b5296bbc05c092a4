#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

// A negative shift, or one by all bits or more, gives 0; to the right, -1 for a negative number.
struct BitShiftOp {
  static constexpr auto kTypes = kIntTypes;
  static Support check(const NodeView& n) { return Check(n).attr_is("direction", {"LEFT", "RIGHT"}); }
  explicit BitShiftOp(const NodeView& n) : left(n.attr_s("direction") == "LEFT") {}
  template <class T>
  T operator()(T a, T b) const {
    using U = std::make_unsigned_t<T>;
    const bool beyond = b < 0 || static_cast<uint64_t>(b) >= sizeof(T) * 8;
    if (left) return beyond ? T(0) : static_cast<T>(static_cast<U>(a) << b);
    if (beyond) return a < 0 ? T(-1) : T(0);
    return static_cast<T>(a >> b);
  }

  bool left;
};
using BitShift = BinaryKernel<BitShiftOp>;
TENON_KERNEL(BitShift, .op_type = "BitShift", .contract = "A: ~; B: ~")

}  // namespace
}  // namespace tenon::cpu
