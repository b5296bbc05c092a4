// Mistakes that a provider could make, made between the provider cuda and NVIDIA's libraries. The provider asks the loader for each
// function by name; this library, which is preloaded (LD_PRELOAD), gives its own for some. TENON_PLANTED says which mistake:
//
//   wait       the host waits for nothing
//   order      no stream waits for another
//   free       memory is freed before the work that uses it is enqueued
//   short      memory is half as long as asked for
//   capture    memory is allocated while a stream is captured in a mode that forbids it
//   waiting    the host waits for a stream that is captured
//   address    the first kernel of a graph gets an address at which there is no memory
//   leading    the leading dimension of the matrices of products is one more than it is
//   epilogue   products leave out what they do besides the product
#include <cublasLt.h>
#include <cuda.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "tests/support/real_dlsym.h"

namespace {

using tenon::test::real_dlsym;

std::string_view planted() {
  const char* text = std::getenv("TENON_PLANTED");
  return text == nullptr ? "" : text;
}

std::mutex mutex;
std::map<std::string, void*, std::less<>> behind;

void* real_of(const char* name) {
  const std::lock_guard lock(mutex);
  return behind[name];
}

#define TEXT_OF(name) #name
#define NAME(function) TEXT_OF(function)
#define REAL(function) reinterpret_cast<decltype(&function)>(real_of(NAME(function)))

std::atomic<CUdeviceptr> last_allocated{0};
std::atomic<bool> is_capturing{false};

CUresult do_not_wait(CUstream) { return CUDA_SUCCESS; }
CUresult wait_now(CUstream stream) { return REAL(cuStreamSynchronize)(stream); }
CUresult do_not_wait_for(CUevent) { return CUDA_SUCCESS; }
CUresult do_not_order(CUstream, CUevent, unsigned) { return CUDA_SUCCESS; }

CUresult allocate(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream stream) {
  const size_t wanted = planted() == "short" && bytes > 1 ? bytes / 2 : bytes;
  const CUresult result = REAL(cuMemAllocFromPoolAsync)(out, wanted, pool, stream);
  if (result == CUDA_SUCCESS) last_allocated = *out;
  return result;
}

CUresult launch_graph(CUgraphExec graph, CUstream stream) {
  if (const CUdeviceptr memory = last_allocated.exchange(0); planted() == "free" && memory != 0)
    REAL(cuMemFreeAsync)(memory, stream);
  return REAL(cuGraphLaunch)(graph, stream);
}

CUresult free_memory(CUdeviceptr memory, CUstream stream) { return REAL(cuMemFreeAsync)(memory, stream); }
CUresult allocate_now(CUdeviceptr* out, size_t bytes) { return REAL(cuMemAlloc)(out, bytes); }

CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode) {
  is_capturing = true;
  return REAL(cuStreamBeginCapture)(stream,
                                    planted() == "capture" ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL : mode);
}

CUresult launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** arguments,
                void** extra) {
  if (is_capturing.exchange(false)) {
    CUdeviceptr memory = 0;
    if (planted() == "capture") REAL(cuMemAlloc)(&memory, 256);
    if (planted() == "waiting") REAL(cuStreamSynchronize)(stream);
    if (planted() == "address") {
      auto& first = *static_cast<CUdeviceptr*>(arguments[0]);
      const CUdeviceptr right = std::exchange(first, 256);
      const CUresult result = REAL(cuLaunchKernel)(function, grid_x, grid_y, grid_z, block_x, block_y,
                                                   block_z, shared, stream, arguments, extra);
      first = right;
      return result;
    }
  }
  return REAL(cuLaunchKernel)(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                              arguments, extra);
}

cublasStatus_t make_layout(cublasLtMatrixLayout_t* out, cudaDataType type, uint64_t rows, uint64_t columns,
                           int64_t leading) {
  return REAL(cublasLtMatrixLayoutCreate)(out, type, rows, columns, leading + 1);
}

cublasStatus_t set_attribute(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t name,
                             const void* value, size_t bytes) {
  const cublasLtEpilogue_t none = CUBLASLT_EPILOGUE_DEFAULT;
  return REAL(cublasLtMatmulDescSetAttribute)(product, name,
                                              name == CUBLASLT_MATMUL_DESC_EPILOGUE ? &none : value, bytes);
}

void* in_front_of(std::string_view name) {
#define IN_FRONT(mistake, function, ours) \
  if (name == NAME(function) && (*mistake == 0 || planted() == mistake)) return reinterpret_cast<void*>(ours);
  IN_FRONT("wait", cuStreamSynchronize, do_not_wait)
  IN_FRONT("wait", cuStreamQuery, do_not_wait)
  IN_FRONT("wait", cuEventSynchronize, do_not_wait_for)
  IN_FRONT("wait", cuEventQuery, do_not_wait_for)
  IN_FRONT("order", cuStreamWaitEvent, do_not_order)
  IN_FRONT("", cuStreamSynchronize, wait_now)
  IN_FRONT("", cuMemAllocFromPoolAsync, allocate)
  IN_FRONT("", cuMemFreeAsync, free_memory)
  IN_FRONT("", cuMemAlloc, allocate_now)
  IN_FRONT("", cuGraphLaunch, launch_graph)
  IN_FRONT("", cuStreamBeginCapture, begin_capture)
  IN_FRONT("", cuLaunchKernel, launch)
  IN_FRONT("leading", cublasLtMatrixLayoutCreate, make_layout)
  IN_FRONT("epilogue", cublasLtMatmulDescSetAttribute, set_attribute)
  return nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept {
  void* const found = real_dlsym() == nullptr ? nullptr : real_dlsym()(handle, name);
  void* const ours = found == nullptr ? nullptr : in_front_of(name);
  if (ours == nullptr || found == ours) return found;
  const std::lock_guard lock(mutex);
  behind[name] = found;
  return ours;
}
