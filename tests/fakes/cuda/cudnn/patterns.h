// What kind of graph a graph is: engines are made for some.
#pragma once

#include "graph.h"

namespace fake_cudnn {

enum class Pattern {
  kNone,
  kConvolution,
  kConvolutionBiasActivation,  // with an addend, or without
  kConvolutionFusion,
  kMatmulFusion,
  kPointwise,         // and reductions
  kAttention,         // of products and softmax in pieces
  kUnifiedAttention,  // in one operation
};
Pattern pattern_of(const Graph& graph);

/// Tensors whose channels lie side by side, as engines that are compiled at run time want them.
bool is_channels_last(const Tensor& tensor);

}  // namespace fake_cudnn
