#include "handle.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "descriptor.h"

namespace fake_cudnn {
namespace {

struct Handles {
  std::mutex mutex;
  std::set<cudnnHandle_t> alive;
};
Handles& handles() {
  static auto* const all = new Handles;  // programs may end while they use the library
  return *all;
}

thread_local std::string last_error;

/// The version of CUDA's runtime that cuDNN 9.19 was linked with.
constexpr size_t kRuntimeVersion = 13010;

}  // namespace

cudnnStatus_t failed(cudnnStatus_t status, std::string text) {
  last_error = std::move(text);
  return status;
}

bool is_usable(cudnnHandle_t handle) {
  const std::lock_guard lock(handles().mutex);
  return handles().alive.contains(handle) && fake_cuda::current_context() == handle->context;
}

}  // namespace fake_cudnn

using namespace fake_cudnn;

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }
size_t cudnnGetMaxDeviceVersion() { return CUDNN_MAX_DEVICE_VERSION; }
size_t cudnnGetCudartVersion() { return kRuntimeVersion; }

cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return failed(CUDNN_STATUS_BAD_PARAM, "no place for the property");
  switch (type) {
    case MAJOR_VERSION:
      *value = CUDNN_MAJOR;
      return CUDNN_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUDNN_MINOR;
      return CUDNN_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUDNN_PATCHLEVEL;
      return CUDNN_STATUS_SUCCESS;
    default:
      return failed(CUDNN_STATUS_BAD_PARAM, "no such property");
  }
}

void cudnnGetLastErrorString(char* to, size_t size) {
  if (to == nullptr || size == 0) return;
  const size_t length = std::min(last_error.size(), size - 1);
  std::memcpy(to, last_error.data(), length);
  to[length] = '\0';
  last_error.clear();
}

cudnnStatus_t cudnnGraphVersionCheck() { return CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnCreate(cudnnHandle_t* out) {
  if (out == nullptr) return failed(CUDNN_STATUS_BAD_PARAM, "no place for the handle");
  const CUcontext context = fake_cuda::current_context();
  if (context == nullptr) return failed(CUDNN_STATUS_NOT_INITIALIZED, "no context is current");
  *out = new cudnnContext{context};
  const std::lock_guard lock(handles().mutex);
  handles().alive.insert(*out);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  if (handle == nullptr) return CUDNN_STATUS_SUCCESS;
  const std::lock_guard lock(handles().mutex);
  if (handles().alive.erase(handle) == 0)
    return failed(CUDNN_STATUS_BAD_PARAM, "the handle has been destroyed");
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (!is_usable(handle)) return failed(CUDNN_STATUS_BAD_PARAM, "a handle of another context, or none");
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  if (!is_usable(handle) || stream == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM, "a handle of another context, or none");
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
