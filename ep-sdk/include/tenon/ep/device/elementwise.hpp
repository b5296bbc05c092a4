// What element-wise operators compute, as steps on elements: the table from operators to steps. A device computes the steps of a
// node, or of a chain of nodes (chain.hpp), with one launch. To add an operator: an operation here and in the providers, and a
// line in the table.
#ifndef TENON_EP_DEVICE_ELEMENTWISE_HPP_
#define TENON_EP_DEVICE_ELEMENTWISE_HPP_

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "tenon/ep/device/clamp.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// All operations: X(name, operands, parameters). Comparisons, and what asks for properties, give bool.
// clang-format off
#define TENON_EP_OPERATIONS(X)                                                                               \
  X(Copy, 1, 0)                                                                                              \
  X(Add, 2, 0) X(Sub, 2, 0) X(Mul, 2, 0) X(Div, 2, 0) X(Pow, 2, 0) X(Mod, 2, 0) X(Fmod, 2, 0) X(PRelu, 2, 0) \
  X(Min, 2, 0) X(Max, 2, 0)                                                                                  \
  X(Equal, 2, 0) X(Greater, 2, 0) X(Less, 2, 0) X(GreaterOrEqual, 2, 0) X(LessOrEqual, 2, 0)                 \
  X(And, 2, 0) X(Or, 2, 0) X(Xor, 2, 0) X(Not, 1, 0)                                                         \
  X(BitAnd, 2, 0) X(BitOr, 2, 0) X(BitXor, 2, 0) X(BitNot, 1, 0) X(ShiftLeft, 2, 0) X(ShiftRight, 2, 0)      \
  X(Where, 3, 0) X(Clip, 1, 2) X(Divide, 1, 1)                                                               \
  X(Abs, 1, 0) X(Neg, 1, 0) X(Sign, 1, 0) X(Relu, 1, 0) X(LeakyRelu, 1, 1) X(Elu, 1, 1) X(Selu, 1, 2)        \
  X(Celu, 1, 1) X(ThresholdedRelu, 1, 1) X(HardSigmoid, 1, 2) X(HardSwish, 1, 0) X(Sigmoid, 1, 0)            \
  X(Swish, 1, 1) X(Tanh, 1, 0) X(Softplus, 1, 0) X(Softsign, 1, 0) X(Mish, 1, 0) X(Gelu, 1, 0)               \
  X(GeluTanh, 1, 0) X(Shrink, 1, 2) X(Erf, 1, 0) X(Exp, 1, 0) X(Log, 1, 0) X(Sqrt, 1, 0) X(Reciprocal, 1, 0) \
  X(Floor, 1, 0) X(Ceil, 1, 0) X(Round, 1, 0) X(Sin, 1, 0) X(Cos, 1, 0) X(Tan, 1, 0) X(Asin, 1, 0)           \
  X(Acos, 1, 0) X(Atan, 1, 0) X(Sinh, 1, 0) X(Cosh, 1, 0) X(Asinh, 1, 0) X(Acosh, 1, 0) X(Atanh, 1, 0)       \
  X(IsNaN, 1, 0) X(IsInf, 1, 2)                                                                              \
  X(Cast, 1, 0)
// clang-format on

/// The numbers are those of the list's order.
enum class Operation : uint32_t {
#define TENON_EP_OPERATION_(name, operands, parameters) k##name,
  TENON_EP_OPERATIONS(TENON_EP_OPERATION_)
#undef TENON_EP_OPERATION_
};

struct OperationTraits {
  std::string_view name;
  uint32_t operands, parameters;
};
inline const OperationTraits& traits_of(Operation operation) {
#define TENON_EP_OPERATION_(name, operands, parameters) {#name, operands, parameters},
  static constexpr OperationTraits kAll[] = {TENON_EP_OPERATIONS(TENON_EP_OPERATION_)};
#undef TENON_EP_OPERATION_
  return kAll[static_cast<uint32_t>(operation)];
}

/// The number of the result of step 0 as an operand of later steps.
inline constexpr uint32_t kFirstResult = 256;

/// One step. Operands a, b and c: a number below kFirstResult is an input, kFirstResult + k the result of step k. Those that the
/// operation does not have are 0. p and q are its parameters.
struct Step {
  Operation op = Operation::kCopy;
  uint32_t a = 0, b = 0, c = 0;
  float p = 0, q = 0;
  uint32_t compute = TENON_FLOAT32, result = TENON_FLOAT32;  // element types
};

/// What an element-wise node computes. Operands of its steps below kFirstResult are positions in `inputs`.
struct NodeExpression {
  std::vector<int> inputs;  // positions among the node's inputs, without missing ones
  std::vector<Step> steps;
  uint32_t compute = 0;  // the element type in which it computes
  bool one_way = false;  // inputs broadcast to the first only
  bool scalars = false;  // the inputs after the first have one element each
};

/// The element types that an operator takes: kReal are those of floating point that the provider computes with.
enum class ElementTypes { kReal, kNumber, kSigned, kInteger, kUnsigned, kBool, kComparable };

struct ElementwiseOperator {
  std::string_view name;
  int since;
  std::string_view contract;
  ElementTypes types;
  std::vector<Step> (*steps)(const NodeView&);
  bool any_second = false;     // the second input may have another type
  bool first_is_bool = false;  // the first input is a condition
  bool one_way = false;        // inputs broadcast to the first only
  bool scalars = false;        // inputs after the first have one element
};

namespace detail::elementwise {

using Op = Operation;
using Types = ElementTypes;
using Steps = std::vector<Step>;

template <Operation kOp>
Steps one(const NodeView&) {
  const uint32_t count = traits_of(kOp).operands;
  return {{kOp, 0, count > 1 ? 1u : 0, count > 2 ? 2u : 0}};
}
/// `p` and `q` are attributes with defaults.
inline Steps with(Operation op, float p, float q = 0) { return {{op, 0, 0, 0, p, q}}; }
template <Operation kOp>
Steps alpha(const NodeView& n) {
  return with(kOp, n.attr_f("alpha", kOp == Op::kLeakyRelu ? 0.01f : 1.0f));
}
inline Steps selu(const NodeView& n) {
  return with(Op::kSelu, n.attr_f("alpha", 1.67326319217681884765625f),
              n.attr_f("gamma", 1.05070102214813232421875f));
}
inline Steps hard_sigmoid(const NodeView& n) {
  return with(Op::kHardSigmoid, n.attr_f("alpha", 0.2f), n.attr_f("beta", 0.5f));
}
inline Steps shrink(const NodeView& n) {
  return with(Op::kShrink, n.attr_f("bias", 0.0f), n.attr_f("lambd", 0.5f));
}
inline Steps gelu(const NodeView& n) {
  return {{n.attr_s("approximate", "none") == "tanh" ? Op::kGeluTanh : Op::kGelu}};
}
inline Steps is_inf(const NodeView& n) {
  return with(Op::kIsInf, static_cast<float>(n.attr_i("detect_negative", 1)),
              static_cast<float>(n.attr_i("detect_positive", 1)));
}
inline Steps modulo(const NodeView& n) { return {{n.attr_i("fmod", 0) != 0 ? Op::kFmod : Op::kMod, 0, 1}}; }
inline Steps shift(const NodeView& n) {
  return {{n.attr_s("direction") == "LEFT" ? Op::kShiftLeft : Op::kShiftRight, 0, 1}};
}
/// The result of the last step.
inline uint32_t last(const Steps& steps) { return kFirstResult + static_cast<uint32_t>(steps.size()) - 1; }
inline Steps clip(const NodeView& n) {
  if (n.since_version() < 11)
    return with(Op::kClip, n.attr_f("min", std::numeric_limits<float>::lowest()),
                n.attr_f("max", std::numeric_limits<float>::max()));
  if (const Clamp limits = clamp_in(n)) return with(Op::kClip, limits.low, limits.high);
  Steps out{{Op::kCopy}};
  uint32_t next = 1;  // missing inputs are not operands
  if (n.has_input(1)) out.push_back({Op::kMax, last(out), next++});
  if (n.has_input(2)) out.push_back({Op::kMin, last(out), next});
  return out;
}
/// Folds all inputs with one operation.
template <Operation kOp>
Steps fold(const NodeView& n) {
  Steps out{{Op::kCopy}};
  for (int i = 1; i < n.input_count(); ++i) out.push_back({kOp, last(out), static_cast<uint32_t>(i)});
  return out;
}
inline Steps mean(const NodeView& n) {
  Steps out = fold<Op::kAdd>(n);
  out.push_back({Op::kDivide, last(out), 0, 0, static_cast<float>(n.input_count())});
  return out;
}

inline constexpr std::string_view kUnary = "X: any", kBinary = "A: ~; B: ~", kFolded = "data_0...: ~";

}  // namespace detail::elementwise

/// The operators, in the form in which kernels for them are registered (ops/elementwise.hpp).
inline constexpr auto kElementwiseOperators = [] {
  using namespace detail::elementwise;
  return std::to_array<ElementwiseOperator>({
      {"Abs", 1, kUnary, Types::kSigned, one<Op::kAbs>},
      {"Neg", 1, kUnary, Types::kSigned, one<Op::kNeg>},
      {"Sign", 9, kUnary, Types::kSigned, one<Op::kSign>},
      {"Relu", 1, kUnary, Types::kSigned, one<Op::kRelu>},
      {"LeakyRelu", 1, kUnary, Types::kReal, alpha<Op::kLeakyRelu>},
      {"Elu", 1, kUnary, Types::kReal, alpha<Op::kElu>},
      {"Selu", 6, kUnary, Types::kReal, selu},
      {"Celu", 12, kUnary, Types::kReal, alpha<Op::kCelu>},
      {"ThresholdedRelu", 10, kUnary, Types::kReal, alpha<Op::kThresholdedRelu>},
      {"HardSigmoid", 1, kUnary, Types::kReal, hard_sigmoid},
      {"HardSwish", 14, kUnary, Types::kReal, one<Op::kHardSwish>},
      {"Sigmoid", 1, kUnary, Types::kReal, one<Op::kSigmoid>},
      {"Swish", 24, kUnary, Types::kReal, alpha<Op::kSwish>},
      {"Tanh", 1, kUnary, Types::kReal, one<Op::kTanh>},
      {"Softplus", 1, kUnary, Types::kReal, one<Op::kSoftplus>},
      {"Softsign", 1, kUnary, Types::kReal, one<Op::kSoftsign>},
      {"Mish", 18, kUnary, Types::kReal, one<Op::kMish>},
      {"Gelu", 20, kUnary, Types::kReal, gelu},
      {"Shrink", 9, kUnary, Types::kReal, shrink},
      {"Erf", 9, kUnary, Types::kReal, one<Op::kErf>},
      {"Exp", 1, kUnary, Types::kReal, one<Op::kExp>},
      {"Log", 1, kUnary, Types::kReal, one<Op::kLog>},
      {"Sqrt", 1, kUnary, Types::kReal, one<Op::kSqrt>},
      {"Reciprocal", 1, kUnary, Types::kReal, one<Op::kReciprocal>},
      {"Floor", 1, kUnary, Types::kReal, one<Op::kFloor>},
      {"Ceil", 1, kUnary, Types::kReal, one<Op::kCeil>},
      {"Round", 11, kUnary, Types::kReal, one<Op::kRound>},
      {"Sin", 7, kUnary, Types::kReal, one<Op::kSin>},
      {"Cos", 7, kUnary, Types::kReal, one<Op::kCos>},
      {"Tan", 7, kUnary, Types::kReal, one<Op::kTan>},
      {"Asin", 7, kUnary, Types::kReal, one<Op::kAsin>},
      {"Acos", 7, kUnary, Types::kReal, one<Op::kAcos>},
      {"Atan", 7, kUnary, Types::kReal, one<Op::kAtan>},
      {"Sinh", 9, kUnary, Types::kReal, one<Op::kSinh>},
      {"Cosh", 9, kUnary, Types::kReal, one<Op::kCosh>},
      {"Asinh", 9, kUnary, Types::kReal, one<Op::kAsinh>},
      {"Acosh", 9, kUnary, Types::kReal, one<Op::kAcosh>},
      {"Atanh", 9, kUnary, Types::kReal, one<Op::kAtanh>},
      {"BitwiseNot", 18, kUnary, Types::kInteger, one<Op::kBitNot>},
      {"Not", 1, kUnary, Types::kBool, one<Op::kNot>},
      {"IsNaN", 9, kUnary, Types::kReal, one<Op::kIsNaN>},
      {"IsInf", 10, kUnary, Types::kReal, is_inf},

      {"Add", 7, kBinary, Types::kNumber, one<Op::kAdd>},
      {"Sub", 7, kBinary, Types::kNumber, one<Op::kSub>},
      {"Mul", 7, kBinary, Types::kNumber, one<Op::kMul>},
      {"Div", 7, kBinary, Types::kNumber, one<Op::kDiv>},
      {"Pow", 7, kBinary, Types::kNumber, one<Op::kPow>, /*any_second=*/true},
      {"Mod", 10, kBinary, Types::kNumber, modulo},
      {"PRelu", 7, "X: any; slope: ~ X", Types::kNumber, one<Op::kPRelu>, false, false, /*one_way=*/true},
      {"BitwiseAnd", 18, kBinary, Types::kInteger, one<Op::kBitAnd>},
      {"BitwiseOr", 18, kBinary, Types::kInteger, one<Op::kBitOr>},
      {"BitwiseXor", 18, kBinary, Types::kInteger, one<Op::kBitXor>},
      {"BitShift", 11, kBinary, Types::kUnsigned, shift},
      {"And", 7, kBinary, Types::kBool, one<Op::kAnd>},
      {"Or", 7, kBinary, Types::kBool, one<Op::kOr>},
      {"Xor", 7, kBinary, Types::kBool, one<Op::kXor>},
      {"Equal", 7, kBinary, Types::kComparable, one<Op::kEqual>},
      {"Greater", 7, kBinary, Types::kNumber, one<Op::kGreater>},
      {"Less", 7, kBinary, Types::kNumber, one<Op::kLess>},
      {"GreaterOrEqual", 12, kBinary, Types::kNumber, one<Op::kGreaterOrEqual>},
      {"LessOrEqual", 12, kBinary, Types::kNumber, one<Op::kLessOrEqual>},

      {"Where", 9, "condition: ~; X: ~; Y: ~", Types::kComparable, one<Op::kWhere>, false,
       /*first_is_bool=*/true},
      {"Clip", 1, "input: any; min?: one; max?: one", Types::kNumber, clip, false, false, false,
       /*scalars=*/true},
      {"Max", 8, kFolded, Types::kNumber, fold<Op::kMax>},
      {"Min", 8, kFolded, Types::kNumber, fold<Op::kMin>},
      {"Sum", 8, kFolded, Types::kReal, fold<Op::kAdd>},
      {"Mean", 8, kFolded, Types::kReal, mean},
  });
}();

/// The expression of a node with an operator of the table; nothing for other operators. Pure.
inline std::optional<NodeExpression> expression_of(const NodeView& n) {
  if (!n.domain().empty()) return std::nullopt;
  const auto found = std::find_if(kElementwiseOperators.begin(), kElementwiseOperators.end(),
                                  [&](const ElementwiseOperator& o) { return o.name == n.op(); });
  if (found == kElementwiseOperators.end()) return std::nullopt;
  const ElementwiseOperator& o = *found;
  NodeExpression out{{}, o.steps(n), n.input(o.first_is_bool ? 1 : 0).dtype(), o.one_way, o.scalars};
  const bool limits_are_numbers = out.steps.size() == 1 && out.steps[0].op == Operation::kClip;
  for (int i = 0; i < (limits_are_numbers ? 1 : n.input_count()); ++i) {
    if (n.has_input(i)) out.inputs.push_back(i);
  }
  for (Step& step : out.steps) step.compute = step.result = out.compute;
  out.steps.back().result = n.output(0).dtype();
  return out;
}

/// The expression of a Cast or CastLike; nothing for other operators. Pure.
inline std::optional<NodeExpression> cast_of(const NodeView& n) {
  if (!n.domain().empty() || (n.op() != "Cast" && n.op() != "CastLike")) return std::nullopt;
  const uint32_t from = n.input(0).dtype();
  Step step{Operation::kCast};
  step.compute = from;
  step.result = n.output(0).dtype();
  return NodeExpression{{0}, {step}, from};
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_ELEMENTWISE_HPP_
