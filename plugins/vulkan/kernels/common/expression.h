// Element-wise expressions of up to four operands, computed by one launch.
#pragma once

#include "kernels/common/kernel.h"
#include "shaders/ops.h"

namespace tenon::vulkan {

/// One step. Operands: registers 0 to 3 are the inputs, 4 + k is the result of step k.
struct Step {
  uint32_t op = OP_COPY;
  uint32_t a = 0, b = 0, c = 0;
  float p = 0, q = 0;
};

inline constexpr size_t kMostSteps = 8, kMostExpressionOperands = 4;

class Expression {
 public:
  Expression() = default;
  /// `types`: of the operands. `compute`: the type in which it computes, as one of the operands or the result has it.
  Expression(const NodeView& node, std::vector<uint32_t> types, uint32_t compute, uint32_t result,
             const std::vector<Step>& steps);

  /// `operands`: as many as `types`.
  void record(Recorder& ctx, const Walk& walk, std::span<const TensorView> operands,
              const OutputTensor& y) const;

 private:
  struct Parameters {
    float p[kMostSteps] = {}, q[kMostSteps] = {};
  };
  KernelRef kernel_;
  Parameters parameters_;
};

}  // namespace tenon::vulkan
