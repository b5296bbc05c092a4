// cuDNN's graph interface: a table of its functions, opened at run time, descriptors that end themselves, and errors as exceptions.
//
// Without cuDNN's headers at build time (TENON_CUDA_HAS_CUDNN is 0) there is no cuDNN at run time either.
#pragma once

#include <string>

#ifndef TENON_CUDA_HAS_CUDNN
#define TENON_CUDA_HAS_CUDNN 0
#endif

#if TENON_CUDA_HAS_CUDNN
#include <cudnn_graph.h>

#include <span>
#include <string_view>

#include "api.h"

namespace tenon::cuda {

#define TENON_CUDNN_FUNCTIONS(X)   \
  X(cudnnGetVersion)               \
  X(cudnnGetErrorString)           \
  X(cudnnGetLastErrorString)       \
  X(cudnnCreate)                   \
  X(cudnnDestroy)                  \
  X(cudnnSetStream)                \
  X(cudnnBackendCreateDescriptor)  \
  X(cudnnBackendDestroyDescriptor) \
  X(cudnnBackendSetAttribute)      \
  X(cudnnBackendGetAttribute)      \
  X(cudnnBackendFinalize)          \
  X(cudnnBackendExecute)

/// The functions of cuDNN.
struct CudnnApi {
  TENON_CUDA_TABLE(TENON_CUDNN_FUNCTIONS)
  bool read_version() { return (version = cudnnGetVersion()) != 0; }
  size_t version = 0;  // 91300 is 9.13.0
};

/// cuDNN, opened at the first call. Null if there is none that can be used. Thread-safe.
const CudnnApi* cudnn();

/// The error of a call; what cuDNN cannot do is UNIMPLEMENTED, and memory that is missing is reported as such.
ep::Error error_of(cudnnStatus_t code, std::string_view what);
inline void check(cudnnStatus_t code, std::string_view what) {
  if (code != CUDNN_STATUS_SUCCESS) [[unlikely]]
    throw error_of(code, what);
}

/// Owns a descriptor of the backend. Other descriptors refer to it: it lives as long as they are set up, and as what is made of
/// them.
class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  CudnnDescriptor(CudnnDescriptor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CudnnDescriptor();

  cudnnBackendDescriptor_t get() const { return handle_; }

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* values);
  void set(cudnnBackendAttributeName_t name, std::span<const int64_t> values) {
    set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  void set(cudnnBackendAttributeName_t name, int64_t value) { set(name, CUDNN_TYPE_INT64, 1, &value); }
  void set(cudnnBackendAttributeName_t name, float value) { set(name, CUDNN_TYPE_FLOAT, 1, &value); }
  void set(cudnnBackendAttributeName_t name, double value) { set(name, CUDNN_TYPE_DOUBLE, 1, &value); }
  void set(cudnnBackendAttributeName_t name, bool value) { set(name, CUDNN_TYPE_BOOLEAN, 1, &value); }
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
    set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, cudnnHandle_t value) { set(name, CUDNN_TYPE_HANDLE, 1, &value); }
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.handle_);
  }
  /// Returns how many values there are; writes up to values.size().
  int64_t read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
               void* values) const;
  void finalize();

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};

}  // namespace tenon::cuda
#endif

namespace tenon::cuda {

/// Empty if cudnn() is there, else why not.
const std::string& why_no_cudnn();

}  // namespace tenon::cuda
