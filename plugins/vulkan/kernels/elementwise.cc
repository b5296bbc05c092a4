// Element-wise operators. To add one: an operation in shaders/ops.h and expression.comp, a line at the end here.
#include "kernels/common/chain.h"

namespace tenon::vulkan {
namespace {

/// The steps of a node with `inputs` inputs.
using Steps = std::vector<Step> (*)(const NodeView&);

enum class Types { kReal, kNumber, kSigned, kInteger, kUnsigned, kBool, kComparable };

template <class List>
constexpr bool holds(const List& list, uint32_t dtype) {
  return list.contains(dtype);
}
bool accepts(Types types, uint32_t dtype) {
  switch (types) {
    case Types::kReal:
      return holds(kRealTypes, dtype);
    case Types::kNumber:
      return holds(kRealTypes + kIntTypes, dtype);
    case Types::kSigned:
      return holds(kRealTypes + kSignedIntTypes, dtype);
    case Types::kInteger:
      return holds(kIntTypes, dtype);
    case Types::kUnsigned:
      return holds(kUnsignedIntTypes, dtype);
    case Types::kBool:
      return holds(kBoolType, dtype);
    case Types::kComparable:
      return holds(kAnyTypes, dtype);
  }
  return false;
}

struct Operator {
  std::string_view name;
  Types types;
  Steps steps;
  bool any_second = false;     // the second input may have another type
  bool first_is_bool = false;  // the first input is a condition
  bool one_way = false;        // inputs broadcast to the first only
  bool scalars = false;        // inputs after the first have one element
};

/// All operators of this file.
std::vector<const Operator*>& operators() {
  static std::vector<const Operator*> all;
  return all;
}
struct Listed {
  explicit Listed(const Operator& one) { operators().push_back(&one); }
};

template <uint32_t kOp>
std::vector<Step> one(const NodeView&) {
  return {{kOp, 0, 1, 2}};
}
/// `p` and `q` are attributes with defaults.
std::vector<Step> with(uint32_t op, float p, float q = 0) { return {{op, 0, 0, 0, p, q}}; }

std::vector<Step> leaky(const NodeView& n) { return with(OP_LEAKY_RELU, n.attr_f("alpha", 0.01f)); }
std::vector<Step> elu(const NodeView& n) { return with(OP_ELU, n.attr_f("alpha", 1.0f)); }
std::vector<Step> celu(const NodeView& n) { return with(OP_CELU, n.attr_f("alpha", 1.0f)); }
std::vector<Step> thresholded(const NodeView& n) {
  return with(OP_THRESHOLDED_RELU, n.attr_f("alpha", 1.0f));
}
std::vector<Step> swish(const NodeView& n) { return with(OP_SWISH, n.attr_f("alpha", 1.0f)); }
std::vector<Step> selu(const NodeView& n) {
  return with(OP_SELU, n.attr_f("alpha", 1.67326319217681884765625f),
              n.attr_f("gamma", 1.05070102214813232421875f));
}
std::vector<Step> hard_sigmoid(const NodeView& n) {
  return with(OP_HARD_SIGMOID, n.attr_f("alpha", 0.2f), n.attr_f("beta", 0.5f));
}
std::vector<Step> shrink(const NodeView& n) {
  return with(OP_SHRINK, n.attr_f("bias", 0.0f), n.attr_f("lambd", 0.5f));
}
std::vector<Step> gelu(const NodeView& n) {
  return {{n.attr_s("approximate", "none") == "tanh" ? OP_GELU_TANH : OP_GELU, 0, 0, 0}};
}
std::vector<Step> is_inf(const NodeView& n) {
  return with(OP_IS_INF, static_cast<float>(n.attr_i("detect_negative", 1)),
              static_cast<float>(n.attr_i("detect_positive", 1)));
}
std::vector<Step> modulo(const NodeView& n) {
  return {{n.attr_i("fmod", 0) != 0 ? OP_FMOD : OP_MOD, 0, 1, 0}};
}
std::vector<Step> shift(const NodeView& n) {
  return {{n.attr_s("direction") == "LEFT" ? OP_SHIFT_LEFT : OP_SHIFT_RIGHT, 0, 1, 0}};
}
std::vector<Step> clip(const NodeView& n) {
  if (n.since_version() < 11)
    return with(OP_CLIP, n.attr_f("min", std::numeric_limits<float>::lowest()),
                n.attr_f("max", std::numeric_limits<float>::max()));
  if (const Clamp limits = clamp_in(n)) return with(OP_CLIP, limits.low, limits.high);
  std::vector<Step> out{{OP_COPY, 0, 0, 0}};
  uint32_t next = 1;  // missing inputs are not operands
  if (n.has_input(1)) out.push_back({OP_MAX, static_cast<uint32_t>(3 + out.size()), next++, 0});
  if (n.has_input(2)) out.push_back({OP_MIN, static_cast<uint32_t>(3 + out.size()), next, 0});
  return out;
}
/// Folds all inputs with one operation.
template <uint32_t kOp>
std::vector<Step> fold(const NodeView& n) {
  std::vector<Step> out{{OP_COPY, 0, 0, 0}};
  for (int i = 1; i < n.input_count(); ++i)
    out.push_back({kOp, static_cast<uint32_t>(3 + out.size()), static_cast<uint32_t>(i), 0});
  return out;
}
std::vector<Step> mean(const NodeView& n) {
  std::vector<Step> out = fold<OP_ADD>(n);
  const auto count = static_cast<float>(n.input_count());
  out.push_back({OP_DIVIDE, static_cast<uint32_t>(3 + out.size()), 0, 0, count});
  return out;
}

template <const Operator& kOperator>
class Elementwise {
 public:
  static Support supports(const NodeView& n) {
    const int first = kOperator.first_is_bool ? 1 : 0;
    Check check(n);
    check.needs_input(0).that(n.input_count() <= static_cast<int>(kMostExpressionOperands),
                              TENON_REJECT_OTHER, "more than ", kMostExpressionOperands,
                              " inputs are not supported");
    const uint32_t dtype = n.input(first).dtype();
    for (int i = first; i < n.input_count(); ++i) {
      if (!n.has_input(i)) continue;
      const uint32_t type = n.input(i).dtype();
      if (i == 1 && kOperator.any_second) {
        check.that(accepts(Types::kReal, dtype) || !accepts(Types::kReal, type), TENON_REJECT_TYPE,
                   "an integer base with a real exponent is not supported");
        check.that(accepts(Types::kReal, dtype) || type == dtype, TENON_REJECT_TYPE,
                   "integers of different types are not supported");
        check.that(type != TENON_UINT64, TENON_REJECT_TYPE, "an exponent of uint64 is not supported");
        continue;
      }
      check.that(accepts(kOperator.types, type), TENON_REJECT_TYPE, "input ", i, " ('", n.input(i).name(),
                 "') has element type ", dtype_name(type), ", which is not supported");
      check.that(type == dtype, TENON_REJECT_TYPE, "inputs of different types are not supported");
    }
    return check.ok() ? computes(n, dtype) : Support(check);
  }
  explicit Elementwise(const NodeView& n) {
    ChainPlan plan;
    require(plan.append(n), TENON_INTERNAL, "an element-wise node does not fit into one launch");
    std::vector<int> inputs;
    for (const ValueView& operand : plan.operands()) inputs.push_back(position(n, operand));
    chain_ = Chain(n, std::move(plan), std::move(inputs));
  }
  Walk prepare(PrepareContext& p) const { return chain_.prepare(p); }
  void record(Recorder& ctx, const Walk& walk) const { chain_.record(ctx, walk); }

 private:
  static int position(const NodeView& n, const ValueView& value) {
    int i = 0;
    while (n.input(i).index() != value.index()) ++i;
    return i;
  }

  Chain chain_;
};

#define ELEMENTWISE(op, version, needs, accepted, ...)                                   \
  constexpr Operator k##op{.name = #op, .types = Types::accepted, .steps = __VA_ARGS__}; \
  const Listed listed_##op(k##op);                                                       \
  using op##Kernel = Elementwise<k##op>;                                                 \
  TENON_KERNEL(op##Kernel, .op_type = #op, .since = version, .contract = needs)

constexpr std::string_view kUnary = "X: any", kBinary = "A: ~; B: ~";

ELEMENTWISE(Abs, 1, kUnary, kSigned, one<OP_ABS>)
ELEMENTWISE(Neg, 1, kUnary, kSigned, one<OP_NEG>)
ELEMENTWISE(Sign, 9, kUnary, kSigned, one<OP_SIGN>)
ELEMENTWISE(Relu, 1, kUnary, kSigned, one<OP_RELU>)
ELEMENTWISE(LeakyRelu, 1, kUnary, kReal, leaky)
ELEMENTWISE(Elu, 1, kUnary, kReal, elu)
ELEMENTWISE(Selu, 6, kUnary, kReal, selu)
ELEMENTWISE(Celu, 12, kUnary, kReal, celu)
ELEMENTWISE(ThresholdedRelu, 10, kUnary, kReal, thresholded)
ELEMENTWISE(HardSigmoid, 1, kUnary, kReal, hard_sigmoid)
ELEMENTWISE(HardSwish, 14, kUnary, kReal, one<OP_HARD_SWISH>)
ELEMENTWISE(Sigmoid, 1, kUnary, kReal, one<OP_SIGMOID>)
ELEMENTWISE(Swish, 24, kUnary, kReal, swish)
ELEMENTWISE(Tanh, 1, kUnary, kReal, one<OP_TANH>)
ELEMENTWISE(Softplus, 1, kUnary, kReal, one<OP_SOFTPLUS>)
ELEMENTWISE(Softsign, 1, kUnary, kReal, one<OP_SOFTSIGN>)
ELEMENTWISE(Mish, 18, kUnary, kReal, one<OP_MISH>)
ELEMENTWISE(Gelu, 20, kUnary, kReal, gelu)
ELEMENTWISE(Shrink, 9, kUnary, kReal, shrink)
ELEMENTWISE(Erf, 9, kUnary, kReal, one<OP_ERF>)
ELEMENTWISE(Exp, 1, kUnary, kReal, one<OP_EXP>)
ELEMENTWISE(Log, 1, kUnary, kReal, one<OP_LOG>)
ELEMENTWISE(Sqrt, 1, kUnary, kReal, one<OP_SQRT>)
ELEMENTWISE(Reciprocal, 1, kUnary, kReal, one<OP_RECIPROCAL>)
ELEMENTWISE(Floor, 1, kUnary, kReal, one<OP_FLOOR>)
ELEMENTWISE(Ceil, 1, kUnary, kReal, one<OP_CEIL>)
ELEMENTWISE(Round, 11, kUnary, kReal, one<OP_ROUND>)
ELEMENTWISE(Sin, 7, kUnary, kReal, one<OP_SIN>)
ELEMENTWISE(Cos, 7, kUnary, kReal, one<OP_COS>)
ELEMENTWISE(Tan, 7, kUnary, kReal, one<OP_TAN>)
ELEMENTWISE(Asin, 7, kUnary, kReal, one<OP_ASIN>)
ELEMENTWISE(Acos, 7, kUnary, kReal, one<OP_ACOS>)
ELEMENTWISE(Atan, 7, kUnary, kReal, one<OP_ATAN>)
ELEMENTWISE(Sinh, 9, kUnary, kReal, one<OP_SINH>)
ELEMENTWISE(Cosh, 9, kUnary, kReal, one<OP_COSH>)
ELEMENTWISE(Asinh, 9, kUnary, kReal, one<OP_ASINH>)
ELEMENTWISE(Acosh, 9, kUnary, kReal, one<OP_ACOSH>)
ELEMENTWISE(Atanh, 9, kUnary, kReal, one<OP_ATANH>)
ELEMENTWISE(BitwiseNot, 18, kUnary, kInteger, one<OP_BIT_NOT>)
ELEMENTWISE(Not, 1, kUnary, kBool, one<OP_NOT>)
ELEMENTWISE(IsNaN, 9, kUnary, kReal, one<OP_IS_NAN>)
ELEMENTWISE(IsInf, 10, kUnary, kReal, is_inf)

ELEMENTWISE(Add, 7, kBinary, kNumber, one<OP_ADD>)
ELEMENTWISE(Sub, 7, kBinary, kNumber, one<OP_SUB>)
ELEMENTWISE(Mul, 7, kBinary, kNumber, one<OP_MUL>)
ELEMENTWISE(Div, 7, kBinary, kNumber, one<OP_DIV>)
ELEMENTWISE(Pow, 7, kBinary, kNumber, one<OP_POW>, .any_second = true)
ELEMENTWISE(Mod, 10, kBinary, kNumber, modulo)
ELEMENTWISE(PRelu, 7, "X: any; slope: ~ X", kNumber, one<OP_PRELU>, .one_way = true)
ELEMENTWISE(BitwiseAnd, 18, kBinary, kInteger, one<OP_BIT_AND>)
ELEMENTWISE(BitwiseOr, 18, kBinary, kInteger, one<OP_BIT_OR>)
ELEMENTWISE(BitwiseXor, 18, kBinary, kInteger, one<OP_BIT_XOR>)
ELEMENTWISE(BitShift, 11, kBinary, kUnsigned, shift)
ELEMENTWISE(And, 7, kBinary, kBool, one<OP_AND>)
ELEMENTWISE(Or, 7, kBinary, kBool, one<OP_OR>)
ELEMENTWISE(Xor, 7, kBinary, kBool, one<OP_XOR>)
ELEMENTWISE(Equal, 7, kBinary, kComparable, one<OP_EQUAL>)
ELEMENTWISE(Greater, 7, kBinary, kNumber, one<OP_GREATER>)
ELEMENTWISE(Less, 7, kBinary, kNumber, one<OP_LESS>)
ELEMENTWISE(GreaterOrEqual, 12, kBinary, kNumber, one<OP_GREATER_EQUAL>)
ELEMENTWISE(LessOrEqual, 12, kBinary, kNumber, one<OP_LESS_EQUAL>)

ELEMENTWISE(Where, 9, "condition: ~; X: ~; Y: ~", kComparable, one<OP_WHERE>, .first_is_bool = true)
ELEMENTWISE(Clip, 1, "input: any; min?: one; max?: one", kNumber, clip, .scalars = true)
ELEMENTWISE(Max, 8, "data_0...: ~", kNumber, fold<OP_MAX>)
ELEMENTWISE(Min, 8, "data_0...: ~", kNumber, fold<OP_MIN>)
ELEMENTWISE(Sum, 8, "data_0...: ~", kReal, fold<OP_ADD>)
ELEMENTWISE(Mean, 8, "data_0...: ~", kReal, mean)

}  // namespace

std::optional<NodeExpression> expression_of(const NodeView& n) {
  if (!n.domain().empty()) return std::nullopt;
  const std::vector<const Operator*>& all = operators();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Operator* o) { return o->name == n.op(); });
  if (found == all.end()) return std::nullopt;
  const Operator& o = **found;
  NodeExpression out{{}, o.steps(n), n.input(o.first_is_bool ? 1 : 0).dtype(), o.one_way, o.scalars};
  const bool limits_are_numbers = out.steps.size() == 1 && out.steps[0].op == OP_CLIP;
  for (int i = 0; i < (limits_are_numbers ? 1 : n.input_count()); ++i) {
    if (n.has_input(i)) out.inputs.push_back(i);
  }
  return out;
}

}  // namespace tenon::vulkan
