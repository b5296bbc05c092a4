// The CUDA C++ of an element-wise expression. The same expression always gives the same text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tenon/ep/device/chain.hpp"

namespace tenon::cuda {

struct ExpressionText {
  /// Tells the text from all others: types, steps.
  std::string signature;
  std::string text;
  /// The names of two kernels: one does an element per thread, the other four neighbours. Both have the arguments: the
  /// operands, the result, a WalkOf<kMostOperands>, and the parameters of the steps in order, of type float.
  std::string each, four;
};

/// Operands of an expression.
inline constexpr int kMostOperands = 8;

/// `operands`: their element types. `result`: the type of the result. `in_place`: an operand may be the result itself.
ExpressionText text_of(std::span<const uint32_t> operands, std::span<const ep::Step> steps, uint32_t result,
                       bool in_place);

}  // namespace tenon::cuda
