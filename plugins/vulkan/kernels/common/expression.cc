#include "kernels/common/expression.h"

#include "shaders/expression.float.h"
#include "shaders/expression.int.h"
#include "shaders/expression.long.h"
#include "shaders/expression.uint.h"
#include "shaders/expression.ulong.h"
#include "shaders/ops.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSource{"expression",
                               &shaders::expression_float,
                               &shaders::expression_int,
                               &shaders::expression_uint,
                               &shaders::expression_long,
                               &shaders::expression_ulong};

#define STATED(name, operands, parameters) \
  static_assert(static_cast<uint32_t>(Operation::k##name) == OP_##name, "shaders/ops.h has other numbers");
TENON_EP_OPERATIONS(STATED)
#undef STATED

/// In the shader, registers 0 to 3 are the operands, and 4 + k is the result of step k.
uint32_t register_of(uint32_t operand) {
  return operand < kFirstResult ? operand
                                : static_cast<uint32_t>(kChainRules.operands) + operand - kFirstResult;
}

}  // namespace

Expression::Expression(const NodeView& node, const ChainPlan& plan) {
  std::vector<uint32_t> types;
  for (const ValueView& operand : plan.operands()) types.push_back(operand.dtype());
  const std::vector<Step>& steps = plan.steps();
  std::vector<uint32_t> constants{static_cast<uint32_t>(steps.size())};
  const auto count = static_cast<uint32_t>(types.size());
  types.resize(static_cast<size_t>(kChainRules.operands), plan.compute());
  constants.insert(constants.end(), types.begin(), types.end());
  constants.push_back(plan.result().dtype());
  constants.push_back(count);
  for (size_t k = 0; k < steps.size(); ++k) {
    const Step& step = steps[k];
    constants.push_back(static_cast<uint32_t>(step.op));
    for (const uint32_t operand : {step.a, step.b, step.c}) constants.push_back(register_of(operand));
    parameters_.p[k] = step.p;
    parameters_.q[k] = step.q;
  }
  kernel_ = load_kernel(node, kSource.for_type(plan.compute()), std::move(constants));
}

void Expression::record(Recorder& ctx, const Walk& walk, std::span<const TensorView> operands,
                        const OutputTensor& y) const {
  const auto operand = [&](size_t i) {
    return in(i < operands.size() ? operands[i] : TensorView(&kNoTensor));
  };
  launch(ctx, kernel_, items_of(walk), operand(0), operand(1), operand(2), operand(3), out(y), walk,
         parameters_);
}

}  // namespace tenon::vulkan
