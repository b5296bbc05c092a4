// Which attributes descriptors have, of which types, and what NVIDIA's library answers to wrong ones.
#pragma once

#include <cudnn_graph.h>

#include <cstdint>

namespace fake_cudnn {

/// A set of CUDNN_TYPE_*.
using Types = uint32_t;
constexpr Types types() { return 0; }
template <class... Rest>
constexpr Types types(cudnnBackendAttributeType_t first, Rest... rest) {
  return (Types{1} << first) | types(rest...);
}

inline constexpr int64_t kMany = 1 << 20;

struct Attribute {
  cudnnBackendDescriptorType_t of;
  cudnnBackendAttributeName_t name;
  Types settable;                                    // 0: it is computed
  int64_t most = 1;                                  // elements
  cudnnStatus_t otherwise = CUDNN_STATUS_BAD_PARAM;  // for a wrong type
  Types gettable = 0;                                // in place of `settable`
  cudnnBackendDescriptorType_t child = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
  int64_t least = 1;
};

/// Null for one that the descriptor does not have.
const Attribute* find_attribute(cudnnBackendDescriptorType_t of, cudnnBackendAttributeName_t name);

/// Whether there are descriptors of the type here. NVIDIA's library has more.
bool is_known(cudnnBackendDescriptorType_t type);

}  // namespace fake_cudnn
