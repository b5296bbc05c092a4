// Element-wise nodes that are computed by one launch: a node, or a chain of them.
#pragma once

#include <optional>

#include "kernels/common/expression.h"

namespace tenon::vulkan {

/// What an element-wise node computes. Operands of its steps: registers 0 to 3 are `inputs`, 4 + k is the result of step k.
struct NodeExpression {
  std::vector<int> inputs;  // positions among the node's inputs, without missing ones
  std::vector<Step> steps;
  uint32_t compute = 0;  // the element type in which it computes
  bool one_way = false;  // inputs broadcast to the first only
  bool scalars = false;  // the inputs after the first have one element each
};

/// The expression of a node that elementwise.cc supports; nothing for other operators. Pure.
std::optional<NodeExpression> expression_of(const NodeView& node);

/// The nodes of a launch, in order. Each but the first uses the result of the one before it, whose only user it is.
class ChainPlan {
 public:
  /// Adds a node. Returns false, and leaves the plan as it was, if it is not element-wise or does not fit: it does not use the
  /// result so far, computes in another type, needs too many operands or steps, or is known to have a larger output, so that
  /// parts would be computed again and again.
  bool append(const NodeView& node);

  /// The distinct values that the launch reads.
  const std::vector<ValueView>& operands() const { return operands_; }
  const std::vector<Step>& steps() const { return steps_; }
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
  static constexpr uint32_t kLast = ~0u;

  /// A node: its operands, of which kLast is the result of the node before it.
  struct Part {
    std::vector<uint32_t> sources;
    bool one_way = false, scalars = false;
  };

  std::vector<ValueView> operands_;
  std::vector<Step> steps_;
  std::vector<Part> parts_;
  uint32_t compute_ = 0;
  ValueView result_;
};

/// The kernel for a plan.
class Chain {
 public:
  Chain() = default;
  /// `inputs`: for each operand of the plan, which input of the claim it is.
  Chain(const NodeView& first, ChainPlan plan, std::vector<int> inputs);

  Walk prepare(PrepareContext& p) const;
  void record(Recorder& ctx, const Walk& walk) const;

 private:
  ChainPlan plan_;
  std::vector<int> inputs_;
  Expression expression_;
};

}  // namespace tenon::vulkan
