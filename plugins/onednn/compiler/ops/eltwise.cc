// Element-wise functions that oneDNN has or that it can chain. `exact`: NaN and infinities as in ONNX.
//
// Version 2.6 is too inaccurate for Log (1.4e-6 near 1), Softplus and Mish (no correct digits below -16).
#include <limits>

#include "compiler/ops/eltwise.h"

namespace tenon::onednn {
namespace {

using F = Eltwise;

/// Defines an operator without attributes.
#define ONEDNN_ELTWISE(Name, ...)                                     \
  struct Name : EltwiseOperation {                                    \
    explicit Name(const NodeView&) : EltwiseOperation(__VA_ARGS__) {} \
  };                                                                  \
  ONEDNN_OPERATOR(Name, .op_type = #Name, .contract = "X: any")

ONEDNN_ELTWISE(Relu, Pointwise{.eltwise = F::kRelu, .exact = false})
ONEDNN_ELTWISE(Abs, Pointwise{.eltwise = F::kAbs})
ONEDNN_ELTWISE(Neg, Pointwise{.eltwise = F::kLinear, .alpha = -1})
ONEDNN_ELTWISE(Sqrt, Pointwise{.eltwise = F::kSqrt})
ONEDNN_ELTWISE(Exp, Pointwise{.eltwise = F::kExp, .exact = false})
ONEDNN_ELTWISE(Sigmoid, Pointwise{.eltwise = F::kLogistic})
ONEDNN_ELTWISE(Tanh, Pointwise{.eltwise = F::kTanh})
ONEDNN_ELTWISE(Round, Pointwise{.eltwise = F::kRound})
ONEDNN_ELTWISE(HardSwish, Pointwise{.eltwise = F::kHardSwish})
ONEDNN_ELTWISE(Reciprocal, Pointwise{.eltwise = F::kPow, .alpha = 1, .beta = -1})

struct LeakyRelu : EltwiseOperation {
  explicit LeakyRelu(const NodeView& n) : EltwiseOperation(function(n.attr_f("alpha", 0.01f))) {}
  static Pointwise function(float alpha) {
    return {.eltwise = F::kRelu, .alpha = alpha, .exact = alpha != 0};
  }
};
ONEDNN_OPERATOR(LeakyRelu, .op_type = "LeakyRelu", .contract = "X: any")

struct Elu : EltwiseOperation {
  explicit Elu(const NodeView& n)
      : EltwiseOperation(Pointwise{.eltwise = F::kElu, .alpha = n.attr_f("alpha", 1)}) {}
};
ONEDNN_OPERATOR(Elu, .op_type = "Elu", .contract = "X: any")

struct Selu : EltwiseOperation {
  explicit Selu(const NodeView& n)
      : EltwiseOperation({{.eltwise = F::kElu, .alpha = n.attr_f("alpha", 1.67326319217681884765625f)},
                          {.eltwise = F::kLinear, .alpha = n.attr_f("gamma", 1.05070102214813232421875f)}}) {}
};
ONEDNN_OPERATOR(Selu, .op_type = "Selu", .contract = "X: any")

/// The scaled argument must not overflow and must not lose its digits.
struct Celu : EltwiseOperation {
  static Support supports(const NodeView& n) {
    constexpr float kMost = 8;
    const float alpha = n.attr_f("alpha", 1);
    return Check(n)
        .input(0, kFloat32)
        .that(alpha >= 1 && alpha <= kMost, TENON_REJECT_ATTRIBUTE, "alpha is ", alpha,
              "; supported values are 1 to ", kMost);
  }
  explicit Celu(const NodeView& n) : EltwiseOperation(functions(n.attr_f("alpha", 1))) {}
  static std::vector<Pointwise> functions(float alpha) {
    return {{.eltwise = F::kLinear, .alpha = 1 / alpha},
            {.eltwise = F::kElu, .alpha = 1},
            {.eltwise = F::kLinear, .alpha = alpha}};
  }
};
ONEDNN_OPERATOR(Celu, .op_type = "Celu", .contract = "X: any")

struct HardSigmoid : EltwiseOperation {
  explicit HardSigmoid(const NodeView& n)
      : EltwiseOperation(
            {{.eltwise = F::kLinear, .alpha = n.attr_f("alpha", 0.2f), .beta = n.attr_f("beta", 0.5f)},
             {.eltwise = F::kClip, .alpha = 0, .beta = 1, .exact = false}}) {}
};
ONEDNN_OPERATOR(HardSigmoid, .op_type = "HardSigmoid", .contract = "X: any")

struct Gelu : EltwiseOperation {
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kFloat32).attr_is("approximate", {"none", "tanh"});
  }
  explicit Gelu(const NodeView& n)
      : EltwiseOperation(
            Pointwise{.eltwise = n.attr_s("approximate", "none") == "tanh" ? F::kGeluTanh : F::kGeluErf}) {}
};
ONEDNN_OPERATOR(Gelu, .op_type = "Gelu", .contract = "X: any")

struct Swish : EltwiseOperation {
  explicit Swish(const NodeView& n)
      : EltwiseOperation(Pointwise{.eltwise = F::kSwish, .alpha = n.attr_f("alpha", 1)}) {}
};
ONEDNN_OPERATOR(Swish, .op_type = "Swish", .contract = "X: any")

/// Bounds are attributes up to version 6 and inputs from 11 on. Inputs must be constants.
struct Clip : EltwiseOperation {
  static Support supports(const NodeView& n) {
    Check check(n);
    check.inputs(0, kFloat32);
    for (int i = 1; i < n.input_count(); ++i) {
      check.that(!n.has_input(i) || n.input(i).is_constant(), TENON_REJECT_OTHER, "input ", i, " ('",
                 n.input(i).name(), "') is not a constant");
    }
    return check;
  }
  explicit Clip(const NodeView& n)
      : EltwiseOperation(Pointwise{.eltwise = F::kClip,
                                   .alpha = bound(n, 1, "min", std::numeric_limits<float>::lowest()),
                                   .beta = bound(n, 2, "max", std::numeric_limits<float>::max()),
                                   .exact = false}) {}
  static float bound(const NodeView& n, int input, const char* attribute, float otherwise) {
    if (n.since_version() < 11) return n.attr_f(attribute, otherwise);
    return n.has_input(input) ? n.input(input).constant().data<float>()[0] : infinite(otherwise);
  }
  static float infinite(float otherwise) {
    return otherwise < 0 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  }
};
ONEDNN_OPERATOR(Clip, .op_type = "Clip", .since = 6, .contract = "input: any; min?: one; max?: one")

/// The exponent must be a constant number.
struct Pow : EltwiseOperation {
  static Support supports(const NodeView& n) {
    Check check(n);
    check.input(0, kFloat32).input(1, kFloat32);
    const bool number =
        n.has_input(1) && n.input(1).is_constant() && n.input(1).constant().size() == 1 &&
        (n.input(1).constant().rank() == 0 || n.input(0).rank() >= n.input(1).constant().rank());
    check.that(number, TENON_REJECT_OTHER, "the exponent is not a constant number");
    // The library computes this as a square root, which is NaN for -infinity.
    if (check.ok()) {
      const float exponent = n.input(1).constant().data<float>()[0];
      check.that(exponent != 0.5f, TENON_REJECT_OTHER, "the exponent is ", exponent,
                 ", with which oneDNN gives NaN for -infinity");
    }
    return check;
  }
  explicit Pow(const NodeView& n) : EltwiseOperation(function(n.input(1).constant().data<float>()[0])) {}
  static Pointwise function(float exponent) {
    if (exponent == 2) return {.eltwise = F::kSquare};
    return {.eltwise = F::kPow, .alpha = 1, .beta = exponent};
  }
};
ONEDNN_OPERATOR(Pow, .op_type = "Pow", .since = 7, .contract = "X: any; Y: one")

}  // namespace
}  // namespace tenon::onednn
