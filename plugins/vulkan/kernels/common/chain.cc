#include "kernels/common/chain.h"

namespace tenon::vulkan {
namespace {

/// Types in which the result of a step is what its tensor would hold. Smaller integers wrap around when they are stored.
constexpr TypeList<float, Float16, int32_t, int64_t, uint32_t, uint64_t> kChainTypes;

/// Whether `other` is known to make the output of a node larger than `result`.
bool enlarges(const ValueView& other, const ValueView& result) {
  if (!other.has_rank() || !result.has_rank()) return false;
  if (other.rank() > result.rank()) return true;
  const int shift = result.rank() - other.rank();
  for (int d = 0; d < other.rank(); ++d) {
    if (result.dim(d + shift) == 1 && other.dim(d) != 1) return true;
  }
  return false;
}

}  // namespace

bool ChainPlan::append(const NodeView& node) {
  std::optional<NodeExpression> expression = expression_of(node);
  if (!expression) return false;
  const bool is_first = parts_.empty();
  if (!is_first && (expression->compute != compute_ || !kChainTypes.contains(compute_))) return false;

  Part part{{}, expression->one_way, expression->scalars};
  std::vector<ValueView> operands = operands_;
  std::vector<uint32_t> registers;  // of the node's inputs
  bool uses_result = false;
  for (const int i : expression->inputs) {
    const ValueView value = node.input(i);
    if (!is_first && value.index() == result_.index()) {
      // A condition may be a comparison's result; else the type is the one in which all steps compute.
      if (value.dtype() != compute_ && value.dtype() != TENON_BOOL) return false;
      registers.push_back(static_cast<uint32_t>(kMostExpressionOperands + steps_.size() - 1));
      part.sources.push_back(kLast);
      uses_result = true;
      continue;
    }
    if (!is_first && enlarges(value, result_)) return false;
    const auto known = std::find_if(operands.begin(), operands.end(),
                                    [&](const ValueView& one) { return one.index() == value.index(); });
    const auto at = static_cast<uint32_t>(known - operands.begin());
    if (known == operands.end()) operands.push_back(value);
    registers.push_back(at);
    part.sources.push_back(at);
  }
  if (!is_first && !uses_result) return false;
  if (operands.size() > kMostExpressionOperands || steps_.size() + expression->steps.size() > kMostSteps)
    return false;

  const auto base = static_cast<uint32_t>(steps_.size());
  const auto renumber = [&](uint32_t number) {
    if (number >= kMostExpressionOperands) return number + base;
    return number < registers.size() ? registers[number] : 0;  // else the step does not use it
  };
  for (Step step : expression->steps) {
    step.a = renumber(step.a);
    step.b = renumber(step.b);
    step.c = renumber(step.c);
    steps_.push_back(step);
  }
  operands_ = std::move(operands);
  parts_.push_back(std::move(part));
  compute_ = expression->compute;
  result_ = node.output(0);
  return true;
}

Chain::Chain(const NodeView& first, ChainPlan plan, std::vector<int> inputs)
    : plan_(std::move(plan)), inputs_(std::move(inputs)) {
  std::vector<uint32_t> types;
  for (const ValueView& operand : plan_.operands()) types.push_back(operand.dtype());
  expression_ = Expression(first, std::move(types), plan_.compute(), plan_.result().dtype(), plan_.steps());
}

Walk Chain::prepare(PrepareContext& p) const {
  const auto dims_of = [&](uint32_t operand) { return p.input(inputs_[operand]).dims(); };
  const Dims dims = plan_.result_dims(dims_of);
  p.set_output(0, dims);
  std::vector<Dims> strides;
  for (uint32_t k = 0; k < inputs_.size(); ++k) {
    const DimsView from = dims_of(k);
    strides.push_back(element_count(from) == 1 ? Dims(dims.size(), 0) : broadcast_strides(from, dims));
  }
  return make_walk(dims, strides);
}

void Chain::record(Recorder& ctx, const Walk& walk) const {
  std::vector<TensorView> operands;
  for (const int i : inputs_) operands.push_back(ctx.input(i));
  expression_.record(ctx, walk, operands, ctx.output(0));
}

}  // namespace tenon::vulkan
