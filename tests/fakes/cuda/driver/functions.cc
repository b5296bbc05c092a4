// What is known of kernels, and how many blocks a multiprocessor takes.
#include <algorithm>

#include "attributes.h"
#include "modules.h"

namespace fake_cuda {
namespace {

constexpr int kMaxThreads = 1024;

int threads_of(const Function& function) {
  return function.info.max_threads == 0
             ? kMaxThreads
             : std::min<int>(kMaxThreads, static_cast<int>(function.info.max_threads));
}

int attribute_of(const Function& function, CUfunction_attribute attribute) {
  constexpr int kRegisters = 32;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return threads_of(function);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(function.module->static_shared_bytes);
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      return 0;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return kRegisters;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return function.module->architecture;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return static_cast<int>(function.max_dynamic_shared);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return -1;
    default:
      refuse(CUDA_ERROR_INVALID_VALUE, "the stand-in does not know this attribute");
  }
}

int blocks_per_multiprocessor(Call& call, CUfunction handle, int block, size_t dynamic_shared) {
  const Function& function = function_of(call, handle);
  require(block > 0, CUDA_ERROR_INVALID_VALUE);
  if (block > threads_of(function)) return 0;
  const Device& device = *function.device;
  const auto of_device = [&](CUdevice_attribute attribute) { return device_attribute(device, attribute); };
  constexpr int kWarp = 32, kReserved = 1024;
  const int threads = (block + kWarp - 1) / kWarp * kWarp;
  const int shared = static_cast<int>(function.module->static_shared_bytes + dynamic_shared) + kReserved;
  if (shared - kReserved > of_device(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)) return 0;
  return std::min({of_device(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
                   of_device(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / threads,
                   of_device(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / shared});
}

template <class Body>
CUresult about_function(const char* name, CUfunction handle, const void* out, Body&& body) {
  return run_call(name, kContext, [&](Call& call) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    body(function_of(call, handle));
  });
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

CUresult cuFuncGetAttribute(int* out, CUfunction_attribute attribute, CUfunction function) {
  return about_function("cuFuncGetAttribute", function, out,
                        [&](Function& it) { *out = attribute_of(it, attribute); });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return run_call("cuFuncSetAttribute", kContext, [&](Call& call) {
    Function& function = function_of(call, handle);
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) return;  // only a hint
    require(attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CUDA_ERROR_INVALID_VALUE,
            "this attribute cannot be set");
    const size_t limit = shared_limit(*function.device, true);
    require(value >= 0 && static_cast<size_t>(value) + function.module->static_shared_bytes <= limit,
            CUDA_ERROR_INVALID_VALUE, "the device has less shared memory");
    function.max_dynamic_shared = static_cast<uint32_t>(value);
  });
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
  return run_call("cuFuncSetCacheConfig", kContext, [&](Call& call) { function_of(call, handle); });
}

CUresult cuFuncGetModule(CUmodule* out, CUfunction function) {
  return about_function("cuFuncGetModule", function, out,
                        [&](Function& it) { *out = reinterpret_cast<CUmodule>(it.module); });
}

CUresult cuFuncGetName(const char** out, CUfunction function) {
  return about_function("cuFuncGetName", function, out, [&](Function& it) { *out = it.info.name; });
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* bytes) {
  return about_function("cuFuncGetParamInfo", handle, offset, [&](Function& it) {
    require(index < it.info.parameter_count, CUDA_ERROR_INVALID_VALUE);
    *offset = it.info.parameters[index].offset;
    if (bytes != nullptr) *bytes = it.info.parameters[index].bytes;
  });
}

CUresult cuFuncLoad(CUfunction handle) {
  return run_call("cuFuncLoad", kContext, [&](Call& call) { function_of(call, handle); });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* out, CUfunction function) {
  return about_function("cuFuncIsLoaded", function, out,
                        [&](Function&) { *out = CU_FUNCTION_LOADING_STATE_LOADED; });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* out, CUfunction function, int block,
                                                     size_t shared) {
  return run_call("cuOccupancyMaxActiveBlocksPerMultiprocessor", kContext, [&](Call& call) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    *out = blocks_per_multiprocessor(call, function, block, shared);
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, CUfunction function, int block,
                                                              size_t shared, unsigned flags) {
  return run_call("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", kContext, [&](Call& call) {
    require(out != nullptr && flags <= CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE, CUDA_ERROR_INVALID_VALUE);
    *out = blocks_per_multiprocessor(call, function, block, shared);
  });
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction handle,
                                          CUoccupancyB2DSize shared_of, size_t shared, int limit) {
  return run_call("cuOccupancyMaxPotentialBlockSize", kContext, [&](Call& call) {
    require(grid != nullptr && block != nullptr, CUDA_ERROR_INVALID_VALUE);
    const Function& function = function_of(call, handle);
    const int most = limit > 0 ? std::min(limit, threads_of(function)) : threads_of(function);
    *block = *grid = 0;
    int best = 0;
    for (int threads = most; threads > 0; threads = (threads - 1) / 32 * 32) {
      const size_t bytes = shared_of == nullptr ? shared : shared_of(threads);
      const int blocks = blocks_per_multiprocessor(call, handle, threads, bytes);
      if (blocks * threads <= best) continue;
      best = blocks * threads;
      *block = threads;
      *grid = blocks * device_attribute(*function.device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    }
  });
}
