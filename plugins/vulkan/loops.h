// How long the loops of kernels are.
//
// Mesa's llvmpipe, on which lavapipe stands, ends the loops of a work-item after 65,535 steps in all, without an error. What
// would take more is left to other providers there.
#pragma once

#include <optional>

#include "tenon/ep.hpp"

namespace tenon::vulkan {

/// A bound of the steps that the loops of one work-item take for this node; nullopt if its shapes do not tell. 0 for operators
/// whose kernels loop over nothing but axes.
std::optional<int64_t> loop_steps(const ep::NodeView& node);

}  // namespace tenon::vulkan
