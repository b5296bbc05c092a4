// Element-wise expressions of up to four operands and eight steps, computed by one launch.
#pragma once

#include "kernels/common/kernel.h"
#include "tenon/ep/device/chain.hpp"

namespace tenon::vulkan {

inline constexpr ChainRules kChainRules{.operands = kMaxOperands, .steps = 8};

class Expression {
 public:
  Expression() = default;
  Expression(const NodeView& node, const ChainPlan& plan);

  /// `operands`: those of the plan.
  void record(Recorder& ctx, const Walk& walk, std::span<const TensorView> operands,
              const OutputTensor& y) const;

 private:
  struct Parameters {
    float p[kChainRules.steps] = {}, q[kChainRules.steps] = {};
  };
  KernelRef kernel_;
  Parameters parameters_;
};

/// The backend of the SDK's element-wise operators and chains.
struct Elements {
  using Recorder = vulkan::Recorder;
  using Expression = vulkan::Expression;
  static constexpr const ChainRules& kRules = kChainRules;
  static constexpr const auto& kRealTypes = vulkan::kRealTypes;
  static Support computes(const NodeView& node, uint32_t dtype) { return vulkan::computes(node, dtype); }
};

}  // namespace tenon::vulkan
