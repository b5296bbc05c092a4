// Finds nodes that are claimed together with the node after them.
#pragma once

#include <vector>

#include "device.h"

namespace tenon::opencl {

/// For each node, the node that uses its output, if that is the only use.
class Followers {
 public:
  explicit Followers(const ep::GraphView& graph);
  /// TENON_NO_INDEX if there is none or it is already taken.
  uint32_t of(const ep::NodeView& node) const;

 private:
  const ep::GraphView& graph_;
  std::vector<uint32_t> by_value_;
};

/// The range of a clamp in `follower`, if `node` can apply it itself; else an empty range. Pure.
Range fuse(const ep::NodeView& node, const ep::NodeView& follower);

}  // namespace tenon::opencl
