// Nodes that are claimed together with the one after them.
#pragma once

#include <vector>

#include "device.h"

namespace tenon::opencl {

/// Which node a node's output goes to when that is the only place it goes to.
class Followers {
 public:
  explicit Followers(const ep::GraphView& graph);
  /// TENON_NO_INDEX when there is none, or it is taken.
  uint32_t of(const ep::NodeView& node) const;

 private:
  const ep::GraphView& graph_;
  std::vector<uint32_t> by_value_;
};

/// The range that `follower` cuts to, when `node` is of an operator that can do that itself. Pure.
Range fuse(const ep::NodeView& node, const ep::NodeView& follower);

}  // namespace tenon::opencl
