#include "handle.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <mutex>
#include <set>

namespace {

struct Name {
  cublasStatus_t status;
  const char *name, *text;
};
constexpr Name kNames[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the function requires an architectural feature absent from the device"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED",
     "the function failed to launch on the GPU"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED",
     "the requested functionality is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "the license check failed"},
};
constexpr Name kUnknown{CUBLAS_STATUS_SUCCESS, "unrecognized status", "unrecognized status"};

const Name& name_of(cublasStatus_t status) {
  for (const Name& known : kNames) {
    if (known.status == status) return known;
  }
  return kUnknown;
}

struct Handles {
  std::mutex mutex;
  std::set<cublasLtHandle_t> alive;
};
Handles& handles() {
  static auto* const all = new Handles;  // programs may end while they use the library
  return *all;
}

std::atomic<size_t> cached_heuristics = 8192;

}  // namespace

namespace fake_cublaslt {

bool is_usable(cublasLtHandle_t handle) {
  const std::lock_guard lock(handles().mutex);
  return handles().alive.contains(handle) && fake_cuda::current_context() == handle->context;
}

}  // namespace fake_cublaslt

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* out) {
  if (out == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const CUcontext context = fake_cuda::current_context();
  if (context == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  *out = new cublasLtContext{context};
  const std::lock_guard lock(handles().mutex);
  handles().alive.insert(*out);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const std::lock_guard lock(handles().mutex);
  if (handles().alive.erase(handle) == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasLtGetStatusName(cublasStatus_t status) { return name_of(status).name; }
const char* cublasLtGetStatusString(cublasStatus_t status) { return name_of(status).text; }
size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
size_t cublasLtGetCudartVersion() { return CUDART_VERSION; }

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (type) {
    case MAJOR_VERSION:
      *value = CUBLAS_VER_MAJOR;
      return CUBLAS_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUBLAS_VER_MINOR;
      return CUBLAS_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUBLAS_VER_PATCH;
      return CUBLAS_STATUS_SUCCESS;
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  if (capacity == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *capacity = cached_heuristics;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity) {
  cached_heuristics = capacity;
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
