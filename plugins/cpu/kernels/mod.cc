#include <cmath>

#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

// fmod = 0: the result has the sign of the divisor; fmod = 1: of the dividend. Integers modulo zero give 0.
struct ModOp {
  static constexpr auto kTypes = kNumericTypes;
  static constexpr bool kCostly = true;
  explicit ModOp(const NodeView& n) : truncate(n.attr_i("fmod", 0) != 0) {}
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if (std::is_signed_v<T> && b == T(-1)) return 0;
      const T rest = static_cast<T>(a % b);
      return !truncate && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    } else {
      const T rest = std::fmod(a, b);
      if (truncate || std::isnan(rest)) return rest;
      if (rest == T(0)) return std::copysign(rest, b);
      return (rest < T(0)) != (b < T(0)) ? rest + b : rest;
    }
  }

  bool truncate;
};
using Mod = BinaryKernel<ModOp>;
TENON_KERNEL(Mod, .op_type = "Mod", .contract = "A: ~; B: ~")

}  // namespace
}  // namespace tenon::cpu
