// Elementwise operators. Most run as steps of the task before them.
#include "device.h"
#include "islands/tasks.h"

namespace tenon::cpu::islands {
namespace {

/// Memory for what comes out of the steps.
Tensor result_of(Builder& b, const Steps& steps, Form form) {
  Tensor out = b.create(steps.value, form);
  out.scaling = steps.scaling;
  return out;
}

/// One input; parameters from attributes or constants.
class Unary : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    return ranked(check, n, 0, 0);
  }
  explicit Unary(const Step& step) : step_(step) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override { return b.dims(node.inputs[0]); }
  std::optional<Pointwise> pointwise() const override { return Pointwise{step_, step_, false}; }
  void build(Builder& b, const Node& node) const override {
    const Tensor x = b.readable(node.inputs[0], b.form_of({node.inputs[0]}));
    Steps steps = b.follow_elementwise(node.outputs[0], x.form);
    if (steps.steps.size() == isa::kMostSteps) fail(TENON_INTERNAL, "too many steps");
    steps.steps.insert(steps.steps.begin(), step_);
    steps.operands.insert(steps.operands.begin(), Tensor());
    add_steps(b, x, result_of(b, steps, x.form), steps);
  }

 private:
  Step step_;
};

Step function(isa::Unary unary) {
  Step out;
  out.unary = unary;
  return out;
}
Step step(Step::Kind kind, float alpha = 0, float beta = 0) {
  Step out;
  out.kind = kind, out.alpha = alpha, out.beta = beta;
  return out;
}

#define CPU_ISLAND_FUNCTION_(name, op, member)                              \
  struct name : Unary {                                                     \
    explicit name(const NodeView&) : Unary(function(isa_table().member)) {} \
  };                                                                        \
  CPU_ISLAND_OPERATOR(name, .op_type = op)
CPU_ISLAND_FUNCTION_(Sigmoid, "Sigmoid", sigmoid)
CPU_ISLAND_FUNCTION_(Tanh, "Tanh", tanh)
CPU_ISLAND_FUNCTION_(Exp, "Exp", exp)
CPU_ISLAND_FUNCTION_(Erf, "Erf", erf)
CPU_ISLAND_FUNCTION_(Sqrt, "Sqrt", sqrt)
CPU_ISLAND_FUNCTION_(Neg, "Neg", neg)
CPU_ISLAND_FUNCTION_(Abs, "Abs", abs)
CPU_ISLAND_FUNCTION_(HardSwish, "HardSwish", hard_swish)
#undef CPU_ISLAND_FUNCTION_

struct Relu : Unary {
  explicit Relu(const NodeView&)
      : Unary(step(Step::Kind::kClamp, 0, std::numeric_limits<float>::infinity())) {}
};
CPU_ISLAND_OPERATOR(Relu, .op_type = "Relu")

struct LeakyRelu : Unary {
  explicit LeakyRelu(const NodeView& n) : Unary(step(Step::Kind::kLeaky, n.attr_f("alpha", 0.01f))) {}
};
struct Elu : Unary {
  explicit Elu(const NodeView& n) : Unary(step(Step::Kind::kElu, n.attr_f("alpha", 1))) {}
};
struct HardSigmoid : Unary {
  explicit HardSigmoid(const NodeView& n)
      : Unary(step(Step::Kind::kGate, n.attr_f("alpha", 0.2f), n.attr_f("beta", 0.5f))) {}
};
CPU_ISLAND_OPERATOR(LeakyRelu, .op_type = "LeakyRelu", .since = 6)
CPU_ISLAND_OPERATOR(Elu, .op_type = "Elu", .since = 6)
CPU_ISLAND_OPERATOR(HardSigmoid, .op_type = "HardSigmoid", .since = 6)

struct Swish : Unary {
  static Support supports(const NodeView& n) {
    Check check(n);
    return ranked(check, n, 0, 0)
        .that(n.attr_f("alpha", 1) == 1.0f, TENON_REJECT_ATTRIBUTE, "alpha is not 1");
  }
  explicit Swish(const NodeView&) : Unary(function(isa_table().silu)) {}
};
CPU_ISLAND_OPERATOR(Swish, .op_type = "Swish")

struct Gelu : Unary {
  static Support supports(const NodeView& n) {
    Check check(n);
    return ranked(check, n, 0, 0).attr_is("approximate", {"none"});
  }
  explicit Gelu(const NodeView&) : Unary(function(isa_table().gelu)) {}
};
CPU_ISLAND_OPERATOR(Gelu, .op_type = "Gelu")

struct Clip : Unary {
  static Support supports(const NodeView& n) {
    Check check(n);
    ranked(check, n, 0, 0);
    for (int i = 1; i < 3; ++i) {
      check.that(!n.has_input(i) || (n.input(i).is_constant() && ep::element_count(n.input(i).dims()) == 1),
                 TENON_REJECT_OTHER, "a bound is not constant");
      if (!check.ok()) return check;
      check.that(!n.has_input(i) || bound(n, i) == bound(n, i), TENON_REJECT_OTHER, "a bound is NaN");
    }
    return check;
  }
  explicit Clip(const NodeView& n)
      : Unary(step(Step::Kind::kClamp,
                   n.has_input(1) ? bound(n, 1) : n.attr_f("min", -std::numeric_limits<float>::infinity()),
                   n.has_input(2) ? bound(n, 2) : n.attr_f("max", std::numeric_limits<float>::infinity()))) {}

 private:
  static float bound(const NodeView& n, int i) { return *n.input(i).constant().data<float>(); }
};
CPU_ISLAND_OPERATOR(Clip, .op_type = "Clip", .since = 6)

/// Two inputs that broadcast.
class Binary : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.that(n.input_count() == 2, TENON_REJECT_OTHER, n.input_count(), " inputs");
    return check.ok() ? ranked(ranked(check, n, 0, 0), n, 1, 0) : check;
  }
  Binary(Step::Kind kind, Step::Kind reversed) : step_(step(kind)), reversed_(step(reversed)) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    return broadcast_dims(b.dims(node.inputs[0]), b.dims(node.inputs[1]));
  }
  std::optional<Pointwise> pointwise() const override { return Pointwise{step_, reversed_, true}; }
  void build(Builder& b, const Node& node) const override {
    const Dims& dims = b.dims(node.outputs[0]);
    const Form form = dims.size() < 3 ? Form::kPlain : b.form_of({node.inputs[0], node.inputs[1]});
    // One operand has the result's shape, or is expanded to it.
    const bool first = b.dims(node.inputs[0]) == dims || b.dims(node.inputs[1]) != dims;
    const uint32_t one = node.inputs[first ? 0 : 1], two = node.inputs[first ? 1 : 0];
    Tensor operand;
    std::optional<Step> own = b.step_with(first ? step_ : reversed_, dims, form, two, &operand);
    if (!own) {
      own = first ? step_ : reversed_;
      operand = expanded(b, two, dims, form);
      own->ld = operand.ld;
    }
    const Tensor x = b.dims(one) == dims ? b.readable(one, form) : expanded(b, one, dims, form);
    Steps steps = b.follow_elementwise(node.outputs[0], form);
    if (steps.steps.size() == isa::kMostSteps) fail(TENON_INTERNAL, "too many steps");
    steps.steps.insert(steps.steps.begin(), *own);
    steps.operands.insert(steps.operands.begin(), operand);
    add_steps(b, x, result_of(b, steps, form), steps);
  }

 private:
  static Tensor expanded(Builder& b, uint32_t value, const Dims& dims, Form form) {
    Tensor plain = b.temporary(dims, Form::kPlain);
    add_expansion(b, b.dense(value, Form::kPlain), plain);
    if (form == Form::kPlain) return plain;
    Tensor out = b.temporary(dims, form);
    add_conversion(b, plain, out);
    return out;
  }
  Step step_, reversed_;
};

#define CPU_ISLAND_BINARY_(name, op, first, kind, reversed)                            \
  struct name : Binary {                                                               \
    explicit name(const NodeView&) : Binary(Step::Kind::kind, Step::Kind::reversed) {} \
  };                                                                                   \
  CPU_ISLAND_OPERATOR(name, .op_type = op, .since = first)
CPU_ISLAND_BINARY_(Add, "Add", 7, kAdd, kAdd)
CPU_ISLAND_BINARY_(Sub, "Sub", 7, kSub, kSubFrom)
CPU_ISLAND_BINARY_(Mul, "Mul", 7, kMul, kMul)
CPU_ISLAND_BINARY_(Div, "Div", 7, kDiv, kDivInto)
CPU_ISLAND_BINARY_(Max, "Max", 8, kMax, kMax)
CPU_ISLAND_BINARY_(Min, "Min", 8, kMin, kMin)
#undef CPU_ISLAND_BINARY_

}  // namespace
}  // namespace tenon::cpu::islands
