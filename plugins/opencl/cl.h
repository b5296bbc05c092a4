// OpenCL 1.2 with RAII handles, and errors as exceptions.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <functional>
#include <string>
#include <utility>

#include "tenon/ep/device/own_process.hpp"

namespace tenon::opencl {

/// A name such as "CL_OUT_OF_RESOURCES", or the number.
std::string error_name(cl_int code);

/// The error of an OpenCL call or of a command. Out of memory and device lost are reported as such.
ep::Error error_of(cl_int code, const char* what);
/// Throws if an OpenCL call failed.
void check(cl_int code, const char* what);

/// Claimed before the first use of OpenCL.
inline constinit ep::OwnProcess g_process("OpenCL");
inline bool is_forked() { return g_process.is_forked(); }

/// Runs `body` on a thread with a large stack: compilers in drivers need more than the caller may have left.
void with_deep_stack(const std::function<void()>& body);

/// Owns one reference to an OpenCL object.
template <class T, cl_int(CL_API_CALL* kRelease)(T)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T object) : object_(object) {}
  Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_ != nullptr && !is_forked()) kRelease(object_);
  }
  T get() const { return object_; }
  T release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T object_ = nullptr;
};

using ContextHandle = Handle<cl_context, clReleaseContext>;
using QueueHandle = Handle<cl_command_queue, clReleaseCommandQueue>;
using MemHandle = Handle<cl_mem, clReleaseMemObject>;
using ClProgramHandle = Handle<cl_program, clReleaseProgram>;
using KernelHandle = Handle<cl_kernel, clReleaseKernel>;
using EventHandle = Handle<cl_event, clReleaseEvent>;

/// CL_COMPLETE when the command is done; below it: an error.
cl_int status_of(cl_event event);

}  // namespace tenon::opencl
