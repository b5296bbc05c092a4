// The operations of a graph and its tensors, out of their descriptors.
#pragma once

#include <vector>

#include "descriptor.h"
#include "work.h"

namespace fake_cudnn {

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;         // each after those whose results it reads
  std::vector<int32_t> producers;  // of each tensor: a node, or -1

  const Tensor& x(const Node& node) const { return at(node.x); }
  const Tensor& b(const Node& node) const { return at(node.b); }
  const Tensor& y(const Node& node) const { return at(node.y); }
  const Tensor& at(int32_t tensor) const { return tensors[static_cast<size_t>(tensor)]; }
  /// How many operands are that tensor.
  int uses_of(int32_t tensor) const;
};

/// An engine's graph, or why there is none.
cudnnStatus_t make_graph(const Descriptor& descriptor, Graph* out);

fake_cuda::Type type_of(int32_t cudnn_type);

/// Whether a pointwise operation takes b, and t.
bool has_second(int32_t mode);
bool has_third(int32_t mode);

}  // namespace fake_cudnn
