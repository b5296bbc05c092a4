// Replaces the OpenCL loader's clEnqueueNDRangeKernel: counts the launches of the calling thread and forwards
// them. It does not look at kernels and arguments.
#include <dlfcn.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "counter.h"

namespace {

thread_local uint64_t launches = 0;

using Enqueue = decltype(&clEnqueueNDRangeKernel);

Enqueue loaders_own() {
  void* loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  return loader == nullptr ? nullptr : reinterpret_cast<Enqueue>(dlsym(loader, "clEnqueueNDRangeKernel"));
}

}  // namespace

extern "C" {

uint64_t tenon_launches() { return launches; }
const char* tenon_launched() { return ""; }
uint64_t tenon_mapped_arguments() { return 0; }

__attribute__((visibility("default"))) cl_int clEnqueueNDRangeKernel(
    cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset, const size_t* global,
    const size_t* local, cl_uint wait_count, const cl_event* wait_list, cl_event* event) {
  static const Enqueue enqueue = loaders_own();
  if (enqueue == nullptr) return CL_INVALID_OPERATION;
  ++launches;
  return enqueue(queue, kernel, dimensions, offset, global, local, wait_count, wait_list, event);
}

}  // extern "C"
