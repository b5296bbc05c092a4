// Element-wise expressions, computed by one launch: a program is generated for each, and compiled when the first node needs it.
#pragma once

#include "kernels/common/expression_text.h"
#include "kernels/common/kernel.h"

namespace tenon::cuda {

inline constexpr ChainRules kChainRules{.operands = kMostOperands, .steps = 32, .mixes_types = true};
using ChainWalk = WalkOf<kMostOperands>;

class Expression {
 public:
  Expression() = default;
  Expression(const NodeView& node, const ChainPlan& plan);
  /// `operands`: their element types. `in_place`: the result may be one of the operands.
  Expression(const NodeView& node, std::span<const uint32_t> operands, std::span<const Step> steps,
             uint32_t result, bool in_place);

  /// `operands`: as many as there are types.
  void record(Recorder& ctx, const ChainWalk& walk, std::span<const TensorView> operands,
              const OutputTensor& y) const;

 private:
  KernelRef each_, four_;
  std::vector<float> parameters_;
};

/// The backend of the SDK's element-wise operators and chains.
struct Elements {
  using Recorder = cuda::Recorder;
  using Expression = cuda::Expression;
  static constexpr const ChainRules& kRules = kChainRules;
  static constexpr const auto& kRealTypes = cuda::kRealTypes;
  static Support computes(const NodeView&, uint32_t) { return Support::yes(); }
};

}  // namespace tenon::cuda
