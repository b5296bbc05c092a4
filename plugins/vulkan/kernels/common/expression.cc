#include "kernels/common/expression.h"

#include "shaders/expression.float.h"
#include "shaders/expression.int.h"
#include "shaders/expression.long.h"
#include "shaders/expression.uint.h"
#include "shaders/expression.ulong.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSource{"expression",
                               &shaders::expression_float,
                               &shaders::expression_int,
                               &shaders::expression_uint,
                               &shaders::expression_long,
                               &shaders::expression_ulong};

}  // namespace

Expression::Expression(const NodeView& node, std::vector<uint32_t> types, uint32_t compute, uint32_t result,
                       const std::vector<Step>& steps) {
  require(types.size() <= kMostExpressionOperands && steps.size() <= kMostSteps && !steps.empty(),
          TENON_INTERNAL, "an expression of ", types.size(), " operands and ", steps.size(), " steps");
  std::vector<uint32_t> constants{static_cast<uint32_t>(steps.size())};
  const auto count = static_cast<uint32_t>(types.size());
  types.resize(kMostExpressionOperands, compute);
  constants.insert(constants.end(), types.begin(), types.end());
  constants.push_back(result);
  constants.push_back(count);
  for (size_t k = 0; k < steps.size(); ++k) {
    for (const uint32_t number : {steps[k].op, steps[k].a, steps[k].b, steps[k].c})
      constants.push_back(number);
    parameters_.p[k] = steps[k].p;
    parameters_.q[k] = steps[k].q;
  }
  kernel_ = load_kernel(node, kSource.for_type(compute), std::move(constants));
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
