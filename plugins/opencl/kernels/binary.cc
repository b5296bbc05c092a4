// Element-wise operators with two inputs that broadcast. To add one: a line in the source, one at the end.
#include "kernels/common/kernel.h"

namespace tenon::opencl {
namespace {

// Division by zero and of the lowest number by -1 trap on CPUs. The kernels give both a result instead.
constexpr std::string_view kText = R"CL(
#define BINARY_OF(name, second, expression)                                                     \
  __kernel void name(IN(T, x), IN(E, y), OUT(R, z), Walk w) {                        \
    const int i = get_global_id(0), row = get_global_id(1);                          \
    if (i >= w.inner || row >= w.outer) return;                                      \
    WALK2(w, row, at, bt)                                                            \
    const C a = LOAD(PTR(x), at + i * w.step[0]);                                    \
    const second b = (second)LOAD_E(PTR(y), bt + i * w.step[1]);                              \
    STORE_R(PTR(z), row * w.inner + i, (C_R)(expression));                           \
  }
#define BINARY(name, expression) BINARY_OF(name, C, expression)
#if IS_REAL
BINARY(Add, a + b)
BINARY(Sub, a - b)
BINARY(Mul, a * b)
BINARY(Div, a / b)
BINARY(Pow, pow(a, b))
inline C floored(C a, C b) {
  const C r = fmod(a, b);
  return r == 0 ? copysign(r, b) : (r < 0) != (b < 0) ? r + b : r;
}
BINARY(Mod, floored(a, b))
BINARY(Fmod, fmod(a, b))
BINARY(PRelu, a < 0 ? a * b : a)
#else
#define DIVIDE(a, b) ((b) == 0 ? (C)0 : (b) == (C)-1 && IS_SIGNED ? (C)(0 - (a)) : (C)((a) / (b)))
#define REMAINDER(a, b) ((b) == 0 || ((b) == (C)-1 && IS_SIGNED) ? (C)0 : (C)((a) % (b)))
inline C floored(C a, C b) {
  const C r = REMAINDER(a, b);
  return r != 0 && (r < 0) != (b < 0) ? (C)(r + b) : r;
}
inline C power(C a, C_E e) {
  if (e < 0) return a == 1 ? (C)1 : a == (C)-1 && IS_SIGNED ? (C)((long)e & 1 ? -1 : 1) : (C)0;
  C out = 1;
  for (ulong n = (ulong)e; n != 0; n >>= 1) {
    if (n & 1) out *= a;
    a *= a;
  }
  return out;
}
BINARY(Add, a + b)
BINARY(Sub, a - b)
BINARY(Mul, a * b)
BINARY(Div, DIVIDE(a, b))
BINARY_OF(Pow, C_E, power(a, b))
BINARY(Mod, floored(a, b))
BINARY(Fmod, REMAINDER(a, b))
BINARY(PRelu, a < 0 ? a * b : a)
BINARY(BitwiseAnd, a & b)
BINARY(BitwiseOr, a | b)
BINARY(BitwiseXor, a ^ b)
BINARY(And, a && b)
BINARY(Or, a || b)
BINARY(Xor, !a != !b)
BINARY(ShiftLeft, (ulong)b >= 8 * sizeof(C) ? (C)0 : (C)(a << b))
BINARY(ShiftRight, (ulong)b >= 8 * sizeof(C) ? (C)0 : (C)(a >> b))
#endif
BINARY(Equal, a == b)
BINARY(Greater, a > b)
BINARY(Less, a < b)
BINARY(GreaterOrEqual, a >= b)
BINARY(LessOrEqual, a <= b)
)CL";
constexpr Source kSource{"binary", kText};

std::string defines(uint32_t dtype, uint32_t exponent, uint32_t result) {
  return cat(defines_for(dtype), defines_for(exponent, "E"), defines_for(result, "R"),
             "-DIS_REAL=", kRealTypes.contains(dtype) ? 1 : 0,
             " -DIS_SIGNED=", kSignedIntTypes.contains(dtype) ? 1 : 0);
}

using Name = std::string (*)(const NodeView&);
struct Operator {
  std::string_view name;
  Name variant = nullptr;   // the kernel's name if it is not the operator's
  bool any_second = false;  // the second input may have another type
  bool one_way = false;     // only the second input broadcasts
};
constexpr std::string_view contract_of(const Operator& o) {
  return o.one_way ? "X: any; slope: ~ X" : "A: ~; B: ~";
}

std::string mod_variant(const NodeView& n) { return n.attr_i("fmod", 0) != 0 ? "Fmod" : "Mod"; }
std::string shift_variant(const NodeView& n) {
  return n.attr_s("direction") == "LEFT" ? "ShiftLeft" : "ShiftRight";
}

template <const Operator& kOperator, const auto& kTypes>
class Binary {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.needs_input(0).needs_input(1).input(0, kTypes);
    if (kOperator.any_second)
      return check.input(1, kRealTypes + kIntTypes)
          .that(fits(n), TENON_REJECT_TYPE, "an integer base with a real exponent is not supported");
    check.that(n.input(0).dtype() == n.input(1).dtype(), TENON_REJECT_TYPE,
               "inputs of different types are not supported");
    return check.input(1, kTypes);
  }
  explicit Binary(const NodeView& n) {
    const std::string name =
        kOperator.variant != nullptr ? kOperator.variant(n) : std::string(kOperator.name);
    kernel_ = load_kernel(n, kSource, defines(n.input(0).dtype(), n.input(1).dtype(), n.output(0).dtype()),
                          name, kLine);
  }
  Walk prepare(PrepareContext& p) const {
    const DimsView a = p.input(0).dims(), b = p.input(1).dims();
    const Dims dims = kOperator.one_way ? Dims(a.begin(), a.end()) : broadcast_dims(a, b);
    p.set_output(0, dims);
    if (!is_comparison() && p.input(0).size() == element_count(dims)) p.may_overwrite(0, 0);
    return make_walk(dims, {broadcast_strides(a, dims), broadcast_strides(b, dims)});
  }
  void record(Recorder& ctx, const Walk& walk) const {
    launch(ctx, kernel_, items_of(walk), in(ctx.input(0)), in(ctx.input(1)), out(ctx.output(0)), walk);
  }

 private:
  static bool fits(const NodeView& n) {
    return kRealTypes.contains(n.input(0).dtype()) || !kRealTypes.contains(n.input(1).dtype());
  }
  static constexpr bool is_comparison() {
    return kOperator.name == "Equal" || kOperator.name == "Greater" || kOperator.name == "Less" ||
           kOperator.name == "GreaterOrEqual" || kOperator.name == "LessOrEqual";
  }
  KernelRef kernel_;
};

constexpr auto kNumbers = kRealTypes + kIntTypes;
constexpr auto kComparable = kNumbers + kBoolType;

#define BINARY_OPERATOR(op, version, types, ...)            \
  constexpr Operator k##op{#op __VA_OPT__(, ) __VA_ARGS__}; \
  using op##Kernel = Binary<k##op, types>;                  \
  TENON_KERNEL(op##Kernel, .op_type = #op, .since = version, .contract = contract_of(k##op))

BINARY_OPERATOR(Add, 7, kNumbers)
BINARY_OPERATOR(Sub, 7, kNumbers)
BINARY_OPERATOR(Mul, 7, kNumbers)
BINARY_OPERATOR(Div, 7, kNumbers)
BINARY_OPERATOR(Pow, 7, kNumbers, nullptr, true)
BINARY_OPERATOR(Mod, 10, kNumbers, mod_variant)
BINARY_OPERATOR(PRelu, 7, kNumbers, nullptr, false, true)
BINARY_OPERATOR(BitwiseAnd, 18, kIntTypes)
BINARY_OPERATOR(BitwiseOr, 18, kIntTypes)
BINARY_OPERATOR(BitwiseXor, 18, kIntTypes)
BINARY_OPERATOR(BitShift, 11, kUnsignedIntTypes, shift_variant)
BINARY_OPERATOR(And, 7, kBoolType)
BINARY_OPERATOR(Or, 7, kBoolType)
BINARY_OPERATOR(Xor, 7, kBoolType)
BINARY_OPERATOR(Equal, 7, kComparable)
BINARY_OPERATOR(Greater, 7, kNumbers)
BINARY_OPERATOR(Less, 7, kNumbers)
BINARY_OPERATOR(GreaterOrEqual, 12, kNumbers)
BINARY_OPERATOR(LessOrEqual, 12, kNumbers)

}  // namespace
}  // namespace tenon::opencl
