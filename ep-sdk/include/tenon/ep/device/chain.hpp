// Element-wise nodes that are computed by one launch: a node, or a chain of them. A launch on a device costs as much as reading
// a megabyte, and each element-wise node reads and writes its tensors whole.
#ifndef TENON_EP_DEVICE_CHAIN_HPP_
#define TENON_EP_DEVICE_CHAIN_HPP_

#include "tenon/ep/device/elementwise.hpp"
#include "tenon/ep/device/launch.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// What one launch of a provider can compute.
struct ChainRules {
  int operands = kMaxOperands;
  size_t steps = 8;
  /// Whether nodes of a chain may compute in different element types, each in its own; then casts are nodes of chains too.
  bool mixes_types = false;
};

/// The nodes of a launch, in order. Each but the first uses the result of the one before it, whose only user it is.
class ChainPlan {
 public:
  explicit ChainPlan(const ChainRules& rules) : rules_(rules) {}

  /// Adds a node that the provider supports. Returns false, and leaves the plan as it was, if it is not element-wise or does not
  /// fit: it does not use the result so far, computes in another type, needs too many operands or steps, or is known to have a
  /// larger output, so that parts would be computed again and again.
  bool append(const NodeView& node) {
    std::optional<NodeExpression> expression = expression_of(node);
    if (!expression && rules_.mixes_types) expression = cast_of(node);
    if (!expression) return false;
    const bool is_first = parts_.empty();
    const bool mixes = is_first || rules_.mixes_types;
    if (!mixes && (expression->compute != compute_ || !kPlainTypes.contains(compute_))) return false;

    Part part{{}, expression->one_way, expression->scalars};
    std::vector<ValueView> operands = operands_;
    std::vector<uint32_t> numbers;  // of the node's inputs
    bool uses_result = false;
    for (const int i : expression->inputs) {
      const ValueView value = node.input(i);
      if (!is_first && value.index() == result_.index()) {
        // A condition may be a comparison's result; else the type is the one in which all steps compute.
        if (!mixes && value.dtype() != compute_ && value.dtype() != TENON_BOOL) return false;
        numbers.push_back(kFirstResult + static_cast<uint32_t>(steps_.size()) - 1);
        part.sources.push_back(kLast);
        uses_result = true;
        continue;
      }
      if (!is_first && enlarges(value, result_)) return false;
      const auto known = std::find_if(operands.begin(), operands.end(),
                                      [&](const ValueView& one) { return one.index() == value.index(); });
      const auto at = static_cast<uint32_t>(known - operands.begin());
      if (known == operands.end()) operands.push_back(value);
      numbers.push_back(at);
      part.sources.push_back(at);
    }
    if (!is_first && !uses_result) return false;
    if (operands.size() > static_cast<size_t>(rules_.operands) ||
        steps_.size() + expression->steps.size() > rules_.steps)
      return false;

    append_steps(*expression, numbers);
    operands_ = std::move(operands);
    parts_.push_back(std::move(part));
    compute_ = expression->compute;
    result_ = node.output(0);
    return true;
  }

  /// The distinct values that the launch reads.
  const std::vector<ValueView>& operands() const { return operands_; }
  /// The last one gives the result. An operand below kFirstResult is a position in operands().
  const std::vector<Step>& steps() const { return steps_; }
  /// The element type in which the last node computes: that of all steps, unless the rules allow several.
  uint32_t compute() const { return compute_; }
  const ValueView& result() const { return result_; }

  /// The shape of the result. `dims_of(k)`: the dims of operand k. Throws if shapes do not fit.
  template <class DimsOf>
  Dims result_dims(const DimsOf& dims_of) const {
    Dims last;
    for (const Part& part : parts_) {
      const auto dims_at = [&](uint32_t source) {
        if (source == kLast) return last;
        const DimsView dims = dims_of(source);
        return Dims(dims.begin(), dims.end());
      };
      Dims dims = dims_at(part.sources[0]);
      for (size_t i = 1; i < part.sources.size(); ++i) {
        const Dims other = dims_at(part.sources[i]);
        if (part.scalars) {
          require(element_count(other) == 1, TENON_INVALID_ARGUMENT, "a limit of shape ", other,
                  " is not a scalar");
        } else if (part.one_way) {
          broadcast_strides(other, dims);
        } else {
          dims = broadcast_dims(dims, other);
        }
      }
      last = std::move(dims);
    }
    return last;
  }

 private:
  /// Types in which the result of a step is what its tensor would hold. Smaller integers wrap around when they are stored.
  static constexpr TypeList<float, double, Float16, BFloat16, int32_t, int64_t, uint32_t, uint64_t>
      kPlainTypes{};
  static constexpr uint32_t kLast = ~0u;

  /// A node: its operands, of which kLast is the result of the node before it.
  struct Part {
    std::vector<uint32_t> sources;
    bool one_way = false, scalars = false;
  };

  void append_steps(const NodeExpression& expression, const std::vector<uint32_t>& numbers) {
    const auto base = static_cast<uint32_t>(steps_.size());
    const auto renumber = [&](uint32_t number) {
      if (number >= kFirstResult) return number + base;
      return number < numbers.size() ? numbers[number] : 0;
    };
    for (Step step : expression.steps) {
      const uint32_t count = traits_of(step.op).operands;
      step.a = renumber(step.a);
      step.b = count > 1 ? renumber(step.b) : 0;
      step.c = count > 2 ? renumber(step.c) : 0;
      steps_.push_back(step);
    }
  }

  /// Whether `other` is known to make the output of a node larger than `result`.
  static bool enlarges(const ValueView& other, const ValueView& result) {
    if (!other.has_rank() || !result.has_rank()) return false;
    if (other.rank() > result.rank()) return true;
    const int shift = result.rank() - other.rank();
    for (int d = 0; d < other.rank(); ++d) {
      if (result.dim(d + shift) == 1 && other.dim(d) != 1) return true;
    }
    return false;
  }

  ChainRules rules_;
  std::vector<ValueView> operands_;
  std::vector<Step> steps_;
  std::vector<Part> parts_;
  uint32_t compute_ = 0;
  ValueView result_;
};

/// The kernel for a plan. What the backend B must have:
///   typename B::Recorder                        the provider's class, derived from Context
///   typename B::Expression                      one launch that computes a plan: made of (node, plan), it has
///                                               record(recorder, walk, operands, y) const
///   static constexpr ChainRules B::kRules
template <class B>
class Chain {
 public:
  using Walk = WalkOf<B::kRules.operands>;

  Chain() = default;
  /// `inputs`: for each operand of the plan, which input of the claim it is.
  Chain(const NodeView& first, ChainPlan plan, std::vector<int> inputs)
      : plan_(std::move(plan)), inputs_(std::move(inputs)), expression_(first, plan_) {}

  Walk prepare(PrepareContext& p) const {
    const auto dims_of = [&](uint32_t operand) { return p.input(inputs_[operand]).dims(); };
    const Dims dims = plan_.result_dims(dims_of);
    p.set_output(0, dims);
    std::vector<Dims> strides;
    for (uint32_t k = 0; k < inputs_.size(); ++k) {
      const DimsView from = dims_of(k);
      strides.push_back(element_count(from) == 1 ? Dims(dims.size(), 0) : broadcast_strides(from, dims));
    }
    return make_walk<B::kRules.operands>(dims, strides);
  }
  void record(typename B::Recorder& ctx, const Walk& walk) const {
    std::vector<TensorView> operands;
    for (const int i : inputs_) operands.push_back(ctx.input(i));
    expression_.record(ctx, walk, operands, ctx.output(0));
  }

 private:
  ChainPlan plan_{B::kRules};
  std::vector<int> inputs_;
  typename B::Expression expression_;
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_CHAIN_HPP_
