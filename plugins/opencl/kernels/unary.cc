// Element-wise operators with one input. To add one: a line in the source, one at the end.
#include "kernels/common/kernel.h"

namespace tenon::opencl {
namespace {

constexpr std::string_view kText = R"CL(
#define UNARY(name, expression)                                                \
  __kernel void name(IN(T, x), OUT(T, y), int n, float a, float b) {           \
    const int i = get_global_id(0);                                            \
    if (i >= n) return;                                                        \
    const C v = LOAD(PTR(x), i);                                               \
    STORE(PTR(y), i, (C)(expression));                                         \
  }
#define K(number) ((C)(number))
// fmin and fmax lose NaN.
#define CUT(v, low, high) ((v) < (low) ? (low) : (v) > (high) ? (high) : (v))
#if IS_REAL
UNARY(Abs, fabs(v))
UNARY(Neg, -v)
UNARY(Sign, v > 0 ? K(1) : v < 0 ? K(-1) : v)
UNARY(Relu, v < 0 ? K(0) : v)
UNARY(LeakyRelu, v < 0 ? K(a) * v : v)
UNARY(Elu, v < 0 ? K(a) * expm1(v) : v)
UNARY(Selu, v <= 0 ? K(b) * (K(a) * expm1(v)) : K(b) * v)
UNARY(Celu, v < 0 ? K(a) * expm1(v / K(a)) : v)
UNARY(ThresholdedRelu, v > K(a) ? v : K(0))
UNARY(HardSigmoid, CUT(K(a) * v + K(b), K(0), K(1)))
UNARY(HardSwish, v * CUT(v / K(6) + K(0.5f), K(0), K(1)))
UNARY(Sigmoid, K(1) / (K(1) + exp(-v)))
UNARY(Swish, v / (K(1) + exp(-K(a) * v)))
UNARY(Tanh, tanh(v))
UNARY(Softplus, fmax(v, K(0)) + log1p(exp(-fabs(v))))
UNARY(Softsign, v / (K(1) + fabs(v)))
UNARY(Mish, v * tanh(fmax(v, K(0)) + log1p(exp(-fabs(v)))))
// Both avoid 1 + f(v): near f(v) = -1 it loses digits, and the factor v enlarges the error.
UNARY(Gelu, K(0.5f) * v * erfc(v * K(-0.70710678118654752f)))
UNARY(GeluTanh, v / (K(1) + exp(K(-1.5957691216057308f) * (v + K(0.044715f) * v * v * v))))
UNARY(Shrink, v < -K(b) ? v + K(a) : v > K(b) ? v - K(a) : K(0))
UNARY(Erf, erf(v))
UNARY(Exp, exp(v))
UNARY(Log, log(v))
UNARY(Sqrt, sqrt(v))
UNARY(Reciprocal, K(1) / v)
UNARY(Floor, floor(v))
UNARY(Ceil, ceil(v))
UNARY(Round, rint(v))
UNARY(Sin, sin(v))
UNARY(Cos, cos(v))
UNARY(Tan, tan(v))
UNARY(Asin, asin(v))
UNARY(Acos, acos(v))
UNARY(Atan, atan(v))
UNARY(Sinh, sinh(v))
UNARY(Cosh, cosh(v))
UNARY(Asinh, asinh(v))
UNARY(Acosh, acosh(v))
UNARY(Atanh, atanh(v))
#else
UNARY(Abs, (C)abs(v))
UNARY(Neg, -v)
UNARY(Sign, v > 0 ? 1 : v < 0 ? -1 : 0)
UNARY(Relu, v < 0 ? 0 : v)
UNARY(BitwiseNot, ~v)
UNARY(Not, !v)
#endif
)CL";
constexpr Source kSource{"unary", kText};

struct Parameters {
  std::string_view variant = {};  // the kernel's name if it is not the operator's
  float a = 0, b = 0;
};
using Read = Parameters (*)(const NodeView&);

Parameters none(const NodeView&) { return {}; }
Parameters leaky(const NodeView& n) { return {{}, n.attr_f("alpha", 0.01f), 0}; }
Parameters alpha(const NodeView& n) { return {{}, n.attr_f("alpha", 1.0f), 0}; }
Parameters selu(const NodeView& n) {
  return {{}, n.attr_f("alpha", 1.67326319217681884765625f), n.attr_f("gamma", 1.05070102214813232421875f)};
}
Parameters hard_sigmoid(const NodeView& n) { return {{}, n.attr_f("alpha", 0.2f), n.attr_f("beta", 0.5f)}; }
Parameters shrink(const NodeView& n) { return {{}, n.attr_f("bias", 0.0f), n.attr_f("lambd", 0.5f)}; }
Parameters gelu(const NodeView& n) {
  return {n.attr_s("approximate", "none") == "tanh" ? "GeluTanh" : "Gelu", 0, 0};
}

struct Operator {
  std::string_view name;
  Read read = none;
};

template <const Operator& kOperator, const auto& kTypes>
class Unary {
 public:
  static Support supports(const NodeView& n) { return Check(n).needs_input(0).input(0, kTypes); }
  explicit Unary(const NodeView& n) : parameters_(kOperator.read(n)) {
    const uint32_t dtype = n.input(0).dtype();
    const std::string_view name = parameters_.variant.empty() ? kOperator.name : parameters_.variant;
    kernel_ =
        load_kernel(n, kSource, cat(defines_for(dtype), "-DIS_REAL=", kRealTypes.contains(dtype) ? 1 : 0),
                    std::string(name), kLine);
  }
  void prepare(PrepareContext& p) const {
    p.set_output(0, p.input(0).dims());
    p.may_overwrite(0, 0);
  }
  void record(Recorder& ctx) const {
    const int64_t n = ctx.input(0).size();
    launch(ctx, kernel_, {static_cast<size_t>(n), 1, 1}, in(ctx.input(0)), out(ctx.output(0)), narrow(n),
           cl_float{parameters_.a}, cl_float{parameters_.b});
  }

 private:
  Parameters parameters_;
  KernelRef kernel_;
};

constexpr auto kSignedTypes = kRealTypes + kSignedIntTypes;

#define UNARY_OPERATOR(op, version, types, ...)             \
  constexpr Operator k##op{#op __VA_OPT__(, ) __VA_ARGS__}; \
  using op##Kernel = Unary<k##op, types>;                   \
  TENON_KERNEL(op##Kernel, .op_type = #op, .since = version, .contract = "X: any")

UNARY_OPERATOR(Abs, 1, kSignedTypes)
UNARY_OPERATOR(Neg, 1, kSignedTypes)
UNARY_OPERATOR(Sign, 9, kSignedTypes)
UNARY_OPERATOR(Relu, 1, kSignedTypes)
UNARY_OPERATOR(LeakyRelu, 1, kRealTypes, leaky)
UNARY_OPERATOR(Elu, 1, kRealTypes, alpha)
UNARY_OPERATOR(Selu, 6, kRealTypes, selu)
UNARY_OPERATOR(Celu, 12, kRealTypes, alpha)
UNARY_OPERATOR(ThresholdedRelu, 10, kRealTypes, alpha)
UNARY_OPERATOR(HardSigmoid, 1, kRealTypes, hard_sigmoid)
UNARY_OPERATOR(HardSwish, 14, kRealTypes)
UNARY_OPERATOR(Sigmoid, 1, kRealTypes)
UNARY_OPERATOR(Swish, 24, kRealTypes, alpha)
UNARY_OPERATOR(Tanh, 1, kRealTypes)
UNARY_OPERATOR(Softplus, 1, kRealTypes)
UNARY_OPERATOR(Softsign, 1, kRealTypes)
UNARY_OPERATOR(Mish, 18, kRealTypes)
UNARY_OPERATOR(Gelu, 20, kRealTypes, gelu)
UNARY_OPERATOR(Shrink, 9, kRealTypes, shrink)
UNARY_OPERATOR(Erf, 9, kRealTypes)
UNARY_OPERATOR(Exp, 1, kRealTypes)
UNARY_OPERATOR(Log, 1, kRealTypes)
UNARY_OPERATOR(Sqrt, 1, kRealTypes)
UNARY_OPERATOR(Reciprocal, 1, kRealTypes)
UNARY_OPERATOR(Floor, 1, kRealTypes)
UNARY_OPERATOR(Ceil, 1, kRealTypes)
UNARY_OPERATOR(Round, 11, kRealTypes)
UNARY_OPERATOR(Sin, 7, kRealTypes)
UNARY_OPERATOR(Cos, 7, kRealTypes)
UNARY_OPERATOR(Tan, 7, kRealTypes)
UNARY_OPERATOR(Asin, 7, kRealTypes)
UNARY_OPERATOR(Acos, 7, kRealTypes)
UNARY_OPERATOR(Atan, 7, kRealTypes)
UNARY_OPERATOR(Sinh, 9, kRealTypes)
UNARY_OPERATOR(Cosh, 9, kRealTypes)
UNARY_OPERATOR(Asinh, 9, kRealTypes)
UNARY_OPERATOR(Acosh, 9, kRealTypes)
UNARY_OPERATOR(Atanh, 9, kRealTypes)
UNARY_OPERATOR(BitwiseNot, 18, kIntTypes)
UNARY_OPERATOR(Not, 1, kBoolType)

}  // namespace
}  // namespace tenon::opencl
