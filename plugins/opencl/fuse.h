// Finds nodes that are claimed together with the node after them.
#pragma once

#include "device.h"
#include "tenon/ep/device/followers.hpp"

namespace tenon::opencl {

/// The range of a clamp in `follower`, if `node` can apply it itself; else an empty range. Pure.
Range fuse(const ep::NodeView& node, const ep::NodeView& follower);

}  // namespace tenon::opencl
