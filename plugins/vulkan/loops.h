// How long the loops of kernels are. llvmpipe ends them after a fixed number of steps, without an error.
#pragma once

#include <functional>
#include <optional>

#include "tenon/ep/graph.hpp"

namespace tenon::vulkan {

/// The shape of an input of a node: nothing if its rank is not known, TENON_DIM_UNKNOWN for a dim that is not.
using ShapeOf = std::function<std::optional<ep::Dims>(int input)>;

/// The number of steps that all loops of one work-item of a node take at most; nothing if its shapes do not tell.
using LoopSteps = std::function<std::optional<int64_t>(const ShapeOf&)>;

/// The function for a node. It keeps nothing of the node.
LoopSteps loop_steps_of(const ep::NodeView& node);

/// The shapes as far as they are known before a Run.
ShapeOf known_shapes(const ep::NodeView& node);

}  // namespace tenon::vulkan
