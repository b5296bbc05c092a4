// A convolution as a graph of cuDNN: the convolution, then addend, bias and clamp.
#pragma once

#include <cstdint>
#include <string>

#include "cudnn_api.h"
#include "tenon/ep/device/clamp.hpp"
#include "tenon/ep/device/window.hpp"

#if TENON_CUDA_HAS_CUDNN
#include "cudnn_plans.h"
#endif

namespace tenon::cuda {

/// All that tells convolutions apart.
struct ConvolutionShape {
  uint32_t dtype = TENON_FLOAT32;
  int32_t spatial_rank = 2;  // of the node: 1 to 3
  ep::Window window{};
  int32_t images = 0, channels = 0, filters = 0, groups = 1;
  bool has_bias = false, has_addend = false;
  ep::Clamp clamp;

  bool has_epilogue() const { return has_bias || has_addend || clamp; }
  /// Equal for equal convolutions. Without blanks and line breaks.
  std::string key() const;
};

#if TENON_CUDA_HAS_CUDNN
/// The tensors of the graph with memory are in this order; bias and addend may be missing.
enum ConvolutionTensor : int64_t { kImages = 1, kFilters, kAddend, kBias, kResult };

/// The graph of a convolution. `fused`: with its epilogue. Throws if cuDNN does not take it.
OperationGraph convolution_graph(const ConvolutionShape& shape, bool fused, cudnnHandle_t handle);
/// Whether a graph shall hold the epilogue. cuDNN has kernels for a bias, after an addend or without one, and before a clamp that
/// begins at 0 or without one; other sums take engines that it compiles for seconds.
bool can_fuse(const ConvolutionShape& shape);
#endif

}  // namespace tenon::cuda
