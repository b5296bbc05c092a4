#include "kernels/common/expression.h"

namespace tenon::cuda {
namespace {

std::vector<uint32_t> types_of(const std::vector<ValueView>& values) {
  std::vector<uint32_t> out;
  for (const ValueView& value : values) out.push_back(value.dtype());
  return out;
}

/// Whether all rows of all operands begin at whole fours, if the tensors do.
bool goes_by_fours(const ChainWalk& walk, size_t operands) {
  if (walk.rank > 0 && walk.inner % 4 != 0) return false;
  for (size_t k = 0; k < operands; ++k) {
    for (int d = 0; d < walk.rank && walk.step[k] != 0; ++d) {
      if (walk.stride[k][d] % 4 != 0) return false;
    }
  }
  return walk.inner >= 4;
}

}  // namespace

Expression::Expression(const NodeView& node, const ChainPlan& plan)
    : Expression(node, types_of(plan.operands()), plan.steps(), plan.result().dtype(), false) {}

Expression::Expression(const NodeView& node, std::span<const uint32_t> operands, std::span<const Step> steps,
                       uint32_t result, bool in_place) {
  const ExpressionText text = text_of(operands, steps, result, in_place);
  const Source source{text.signature, text.text};
  each_ = load_kernel(node, source, "", text.each);
  four_ = load_kernel(node, source, "", text.four);
  for (const Step& step : steps) {
    const uint32_t count = traits_of(step.op).parameters;
    if (count > 0) parameters_.push_back(step.p);
    if (count > 1) parameters_.push_back(step.q);
  }
}

void Expression::record(Recorder& ctx, const ChainWalk& walk, std::span<const TensorView> operands,
                        const OutputTensor& y) const {
  const bool by_fours = goes_by_fours(walk, operands.size());
  Size3 items = items_of(walk);
  if (by_fours) items[0] = (items[0] + 3) / 4;
  if (detail::is_empty(items)) return;
  detail::Arguments arguments(ctx);
  for (const TensorView& operand : operands) arguments.add(in(operand));
  arguments.add(out(y));
  arguments.add(walk);
  for (const float parameter : parameters_) arguments.add(parameter);
  const Size3 threads = block_for(items);
  arguments.record(by_fours ? four_ : each_, detail::blocks_of(ctx, items, threads), threads);
}

}  // namespace tenon::cuda
