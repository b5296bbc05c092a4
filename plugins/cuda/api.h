// The CUDA driver and NVRTC: tables of their functions, with RAII handles, and errors as exceptions.
//
// The names of functions go through the version macros of cuda.h, so driver().cuMemAlloc calls cuMemAlloc_v2.
#pragma once

#include <cuda.h>
#include <nvrtc.h>

#include <string>
#include <utility>

#include "library.h"
#include "tenon/ep/device/own_process.hpp"

namespace tenon::cuda {

#define TENON_CUDA_FUNCTIONS(X)  \
  X(cuInit)                      \
  X(cuGetErrorName)              \
  X(cuGetErrorString)            \
  X(cuDeviceGet)                 \
  X(cuDeviceGetCount)            \
  X(cuDeviceGetName)             \
  X(cuDeviceGetUuid)             \
  X(cuDeviceTotalMem)            \
  X(cuDeviceGetAttribute)        \
  X(cuDeviceCanAccessPeer)       \
  X(cuDevicePrimaryCtxRetain)    \
  X(cuDevicePrimaryCtxRelease)   \
  X(cuCtxSetCurrent)             \
  X(cuCtxGetCurrent)             \
  X(cuCtxEnablePeerAccess)       \
  X(cuModuleLoadData)            \
  X(cuModuleUnload)              \
  X(cuModuleGetFunction)         \
  X(cuLaunchKernel)              \
  X(cuLaunchHostFunc)            \
  X(cuMemGetInfo)                \
  X(cuMemAlloc)                  \
  X(cuMemFree)                   \
  X(cuMemHostAlloc)              \
  X(cuMemFreeHost)               \
  X(cuMemHostGetDevicePointer)   \
  X(cuMemPoolCreate)             \
  X(cuMemPoolDestroy)            \
  X(cuMemPoolTrimTo)             \
  X(cuMemPoolSetAttribute)       \
  X(cuMemPoolSetAccess)          \
  X(cuMemAllocFromPoolAsync)     \
  X(cuMemFreeAsync)              \
  X(cuMemcpyHtoDAsync)           \
  X(cuMemcpyDtoHAsync)           \
  X(cuMemcpyDtoDAsync)           \
  X(cuMemcpyPeerAsync)           \
  X(cuMemsetD8Async)             \
  X(cuStreamCreate)              \
  X(cuStreamDestroy)             \
  X(cuStreamSynchronize)         \
  X(cuStreamQuery)               \
  X(cuStreamWaitEvent)           \
  X(cuStreamBeginCapture)        \
  X(cuStreamEndCapture)          \
  X(cuEventCreate)               \
  X(cuEventDestroy)              \
  X(cuEventRecord)               \
  X(cuEventQuery)                \
  X(cuEventSynchronize)          \
  X(cuEventElapsedTime)          \
  X(cuGraphDestroy)              \
  X(cuGraphInstantiateWithFlags) \
  X(cuGraphUpload)               \
  X(cuGraphLaunch)               \
  X(cuGraphExecDestroy)

#define TENON_NVRTC_FUNCTIONS(X) \
  X(nvrtcGetErrorString)         \
  X(nvrtcVersion)                \
  X(nvrtcGetNumSupportedArchs)   \
  X(nvrtcGetSupportedArchs)      \
  X(nvrtcCreateProgram)          \
  X(nvrtcDestroyProgram)         \
  X(nvrtcCompileProgram)         \
  X(nvrtcGetCUBINSize)           \
  X(nvrtcGetCUBIN)               \
  X(nvrtcGetPTXSize)             \
  X(nvrtcGetPTX)                 \
  X(nvrtcGetProgramLogSize)      \
  X(nvrtcGetProgramLog)

/// The functions of libcuda.
struct DriverApi {
  TENON_CUDA_TABLE(TENON_CUDA_FUNCTIONS)
  int version = 0;  // of CUDA: 13000 is 13.0
};
/// The functions of NVRTC, which compiles kernels.
struct NvrtcApi {
  TENON_CUDA_TABLE(TENON_NVRTC_FUNCTIONS)
  bool read_version();
  int version = 0;  // 13000 is 13.0
};

/// The driver, opened and initialised at the first call. Throws NOT_FOUND if there is none and FAILED_PRECONDITION if it is too
/// old, with the cure. In a forked child it throws as g_process.require(). Thread-safe.
const DriverApi& driver();
/// NVRTC, opened at the first call. Throws FAILED_PRECONDITION with the cure if there is none. Thread-safe.
const NvrtcApi& nvrtc();
/// Empty if nvrtc() works, else why not.
std::string why_no_nvrtc();

/// "13.0" for 13000.
std::string version_text(int version);

/// Claimed before the first use of the driver.
inline constinit ep::OwnProcess g_process("CUDA");
inline bool is_forked() { return g_process.is_forked(); }

/// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
std::string error_text(CUresult code);
/// The error of a call. Out of memory and a lost process are reported as such; the latter is remembered for require_alive().
ep::Error error_of(CUresult code, std::string_view what);
inline void check(CUresult code, std::string_view what) {
  if (code != CUDA_SUCCESS) [[unlikely]]
    throw error_of(code, what);
}

/// The address of memory of a device as NVIDIA's libraries take it.
inline void* pointer_of(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): nobody here follows it
}

/// After some errors, such as a kernel's access to a wrong address, CUDA does nothing more in this process. Throws such an error
/// again if one has been seen.
void require_alive();

/// Makes a context current in this thread until the end of the scope. An application may use CUDA itself, so a call leaves the
/// thread as it was.
class Current {
 public:
  explicit Current(CUcontext context) {
    check(driver().cuCtxGetCurrent(&before_), "cuCtxGetCurrent");
    if (before_ == context) return;
    check(driver().cuCtxSetCurrent(context), "cuCtxSetCurrent");
    is_changed_ = true;
  }
  ~Current() {
    if (is_changed_) driver().cuCtxSetCurrent(before_);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  CUcontext before_ = nullptr;
  bool is_changed_ = false;
};

/// Owns an object of the driver, which `kDestroy` ends in the context in which it was made. In a forked child it is left alone.
template <class T, void (*kDestroy)(T)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T object) : object_(object) { driver().cuCtxGetCurrent(&context_); }
  Handle(Handle&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), context_(other.context_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(context_, other.context_);
    return *this;
  }
  ~Handle() {
    if (object_ == nullptr || is_forked()) return;
    try {
      const Current current(context_);
      kDestroy(object_);
    } catch (...) {  // the process is lost
    }
  }
  T get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T object_ = nullptr;
  CUcontext context_ = nullptr;
};

namespace detail {
// The results do not matter: the object is gone, or the process is lost.
inline void destroy_stream(CUstream stream) { driver().cuStreamDestroy(stream); }
inline void destroy_event(CUevent event) { driver().cuEventDestroy(event); }
inline void destroy_graph(CUgraph graph) { driver().cuGraphDestroy(graph); }
inline void destroy_exec(CUgraphExec exec) { driver().cuGraphExecDestroy(exec); }
inline void unload_module(CUmodule module) { driver().cuModuleUnload(module); }
}  // namespace detail

using StreamHandle = Handle<CUstream, detail::destroy_stream>;
using EventHandle = Handle<CUevent, detail::destroy_event>;
using GraphHandle = Handle<CUgraph, detail::destroy_graph>;
using GraphExecHandle = Handle<CUgraphExec, detail::destroy_exec>;
using ModuleHandle = Handle<CUmodule, detail::unload_module>;

}  // namespace tenon::cuda
