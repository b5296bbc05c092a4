#include "cl.h"

#include <pthread.h>

#include <exception>

namespace tenon::opencl {
namespace {

constexpr size_t kDeepStack = size_t{16} << 20;

struct DeepCall {
  const std::function<void()>& body;
  std::exception_ptr failure = nullptr;
};

void* run_deep(void* raw) {
  auto& call = *static_cast<DeepCall*>(raw);
  try {
    call.body();
  } catch (...) {
    call.failure = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void with_deep_stack(const std::function<void()>& body) {
  DeepCall call{body};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kDeepStack);
  pthread_t thread{};
  const int code = pthread_create(&thread, &attributes, run_deep, &call);
  pthread_attr_destroy(&attributes);
  ep::require(code == 0, TENON_RESOURCE_EXHAUSTED, "cannot start a thread to build kernels");
  pthread_join(thread, nullptr);
  if (call.failure) std::rethrow_exception(call.failure);
}

std::string error_name(cl_int code) {
  switch (code) {
    case CL_DEVICE_NOT_AVAILABLE:
      return "CL_DEVICE_NOT_AVAILABLE";
    case CL_COMPILER_NOT_AVAILABLE:
      return "CL_COMPILER_NOT_AVAILABLE";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
      return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
    case CL_OUT_OF_RESOURCES:
      return "CL_OUT_OF_RESOURCES";
    case CL_OUT_OF_HOST_MEMORY:
      return "CL_OUT_OF_HOST_MEMORY";
    case CL_BUILD_PROGRAM_FAILURE:
      return "CL_BUILD_PROGRAM_FAILURE";
    case CL_INVALID_VALUE:
      return "CL_INVALID_VALUE";
    case CL_INVALID_BINARY:
      return "CL_INVALID_BINARY";
    case CL_INVALID_BUFFER_SIZE:
      return "CL_INVALID_BUFFER_SIZE";
    case CL_INVALID_KERNEL_NAME:
      return "CL_INVALID_KERNEL_NAME";
    case CL_INVALID_KERNEL_ARGS:
      return "CL_INVALID_KERNEL_ARGS";
    case CL_INVALID_ARG_SIZE:
      return "CL_INVALID_ARG_SIZE";
    case CL_INVALID_WORK_GROUP_SIZE:
      return "CL_INVALID_WORK_GROUP_SIZE";
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
      return "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST";
    default:
      return "OpenCL error " + std::to_string(code);
  }
}

ep::Error error_of(cl_int code, const char* what) {
  std::string text = ep::cat(what, ": ", error_name(code));
  switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_OUT_OF_RESOURCES:
    case CL_INVALID_BUFFER_SIZE:
      return {TENON_RESOURCE_EXHAUSTED, std::move(text)};
    case CL_DEVICE_NOT_AVAILABLE:
      return {TENON_UNAVAILABLE, std::move(text), TENON_ERROR_DEVICE_LOST};
    default:
      return {TENON_INTERNAL, std::move(text)};
  }
}

void check(cl_int code, const char* what) {
  if (code != CL_SUCCESS) [[unlikely]]
    throw error_of(code, what);
}

cl_int status_of(cl_event event) {
  cl_int status = CL_QUEUED;
  check(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr),
        "clGetEventInfo");
  return status;
}

}  // namespace tenon::opencl
