// Stands between the provider cuda and NVIDIA's libraries. The provider asks the loader for each function by name; this library,
// which is preloaded (LD_PRELOAD), defines dlsym and gives its own functions for those that put work on a device. They count for the
// calling thread and forward. The work of cuBLASLt and cuDNN has the names of their functions.
#include <cublasLt.h>
#include <cuda.h>
#if __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>
#define HAS_CUDNN
#endif

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "counter.h"
#include "tests/support/real_dlsym.h"

namespace {

thread_local uint64_t launches = 0;
thread_local std::string launched;

std::mutex mutex;
std::map<CUfunction, std::string> names;

void count(std::string_view name) {
  ++launches;
  (launched += launched.empty() ? "" : ",") += name;
}

std::string name_of(CUfunction function) {
  const std::lock_guard lock(mutex);
  const auto at = names.find(function);
  return at == names.end() ? "unknown" : at->second;
}

void* lookup(void* handle, const char* name) {
  const tenon::test::Dlsym real = tenon::test::real_dlsym();
  return real == nullptr ? nullptr : real(handle, name);
}

// Each function of ours, and the one that it stands before. `REAL(f)` is that one, of the type that NVIDIA's header gives it.
#define TEXT_OF(name) #name
#define NAME(function) TEXT_OF(function)
#define REAL(function) reinterpret_cast<decltype(&function)>(real_of(NAME(function)))

std::map<std::string, void*, std::less<>> behind;

void* real_of(const char* name) {
  const std::lock_guard lock(mutex);
  return behind[name];
}

CUresult get_function(CUfunction* out, CUmodule module, const char* name) {
  const CUresult result = REAL(cuModuleGetFunction)(out, module, name);
  const std::lock_guard lock(mutex);
  if (result == CUDA_SUCCESS) names[*out] = name;
  return result;
}

CUresult launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** arguments,
                void** extra) {
  count(name_of(function));
  return REAL(cuLaunchKernel)(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                              arguments, extra);
}

CUresult launch_ex(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) {
  count(name_of(function));
  return REAL(cuLaunchKernelEx)(config, function, arguments, extra);
}

// What a kernel could do as well. Copies from the host are not counted: they may bring what the host computed.
CUresult copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  count("copy");
  return REAL(cuMemcpyDtoDAsync)(to, from, bytes, stream);
}

CUresult fill(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  count("fill");
  return REAL(cuMemsetD8Async)(to, value, bytes, stream);
}

cublasStatus_t product(cublasLtHandle_t handle, cublasLtMatmulDesc_t what, const void* alpha, const void* a,
                       cublasLtMatrixLayout_t of_a, const void* b, cublasLtMatrixLayout_t of_b,
                       const void* beta, const void* c, cublasLtMatrixLayout_t of_c, void* d,
                       cublasLtMatrixLayout_t of_d, const cublasLtMatmulAlgo_t* how, void* workspace,
                       size_t bytes, cudaStream_t stream) {
  count(NAME(cublasLtMatmul));
  return REAL(cublasLtMatmul)(handle, what, alpha, a, of_a, b, of_b, beta, c, of_c, d, of_d, how, workspace,
                              bytes, stream);
}

#ifdef HAS_CUDNN
cudnnStatus_t execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t with) {
  count(NAME(cudnnBackendExecute));
  return REAL(cudnnBackendExecute)(handle, plan, with);
}
#endif

void* in_front_of(std::string_view name) {
#define IN_FRONT(function, ours) \
  if (name == NAME(function)) return reinterpret_cast<void*>(ours);
  IN_FRONT(cuModuleGetFunction, get_function)
  IN_FRONT(cuLaunchKernel, launch)
  IN_FRONT(cuLaunchKernelEx, launch_ex)
  IN_FRONT(cuMemcpyDtoDAsync, copy)
  IN_FRONT(cuMemsetD8Async, fill)
  IN_FRONT(cublasLtMatmul, product)
#ifdef HAS_CUDNN
  IN_FRONT(cudnnBackendExecute, execute)
#endif
  return nullptr;
}

}  // namespace

extern "C" {

uint64_t tenon_launches() { return launches; }
const char* tenon_launched() {
  thread_local std::string given;
  given = std::move(launched);
  launched.clear();
  return given.c_str();
}
// Tensors of this provider are in memory that the host cannot map.
uint64_t tenon_mapped_arguments() { return 0; }

__attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept {
  void* const found = lookup(handle, name);
  void* const ours = found == nullptr ? nullptr : in_front_of(name);
  if (ours == nullptr || found == ours) return found;
  const std::lock_guard lock(mutex);
  behind[name] = found;
  return ours;
}

}  // extern "C"
