// What cudnnBackendExecute hands to the device's process: the tensors and the operations of a graph, in an order in which they can
// be done. The arguments are a Header, its tensors, then its operations.
#pragma once

#include "tests/fakes/cuda/library/numbers.h"

namespace fake_cudnn {

inline constexpr int kMostDims = 8, kMostSpatial = 6;

struct Tensor {
  int64_t uid = 0;
  fake_cuda::Type type = fake_cuda::Type::kNone;
  int32_t rank = 0;
  int64_t dims[kMostDims] = {}, strides[kMostDims] = {};
  int32_t range = -1;  // memory that it has; virtual tensors and values have none
  int32_t is_virtual = 0, is_value = 0;
  int64_t alignment = 1;
  double value = 0;  // of a tensor by value

  int64_t elements() const {
    int64_t out = 1;
    for (int32_t d = 0; d < rank; ++d) out *= dims[d];
    return out;
  }
  /// The last element's offset.
  int64_t last() const {
    int64_t out = 0;
    for (int32_t d = 0; d < rank; ++d) out += (dims[d] - 1) * strides[d];
    return out;
  }
  bool has_dims_of(const Tensor& other) const {
    for (int32_t d = 0; d < rank; ++d) {
      if (rank != other.rank || dims[d] != other.dims[d]) return false;
    }
    return rank == other.rank;
  }
};

enum class Kind : int32_t { kConvolution, kPointwise, kMatmul, kReduction, kAttention };

/// Tensors are given by their places in the list; -1 is none.
struct Node {
  Kind kind = Kind::kPointwise;
  int32_t mode =
      0;  // cudnnPointwiseMode_t, cudnnReduceTensorOp_t or cudnnConvolutionMode_t; attention: 1 with what is not there
  int32_t compute = 0;  // cudnnDataType_t
  int32_t x = -1, b = -1, t = -1, s = -1,
          y = -1;  // b: second operand, filters, keys; t: third operand, values; s: scale
  // Convolutions.
  int32_t spatial = 0;
  int64_t pre[kMostSpatial] = {}, post[kMostSpatial] = {}, stride[kMostSpatial] = {},
          dilation[kMostSpatial] = {};
  // Pointwise operations; alpha also of convolutions, which have beta too.
  double alpha = 1, alpha2 = 1, beta = 0;
  double lower = 0, upper = 0, slope = 0, elu = 1, softplus = 1, swish = 1;
  int32_t axis = -1;
};

struct Header {
  int32_t tensors = 0, nodes = 0;
  fake_cuda::Rounding rounding = fake_cuda::Rounding::kNone;  // of what is multiplied in float
  int32_t workspace_range = -1;
  int64_t workspace_bytes = 0;
};

}  // namespace fake_cudnn

extern "C" const char* tenon_fake_cudnn_execute(void* const* memory, const void* arguments, size_t bytes);
