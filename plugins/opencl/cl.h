// OpenCL 1.2 with handles that release themselves and errors that are exceptions.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <functional>
#include <string>
#include <utility>

#include "tenon/detail/error.hpp"

namespace tenon::opencl {

/// "CL_OUT_OF_RESOURCES", or the number.
std::string error_name(cl_int code);

/// Throws when an OpenCL call failed. Lack of memory and a lost device keep their meaning.
void check(cl_int code, const char* what);

/// Before the first call of OpenCL: from here on drivers may have threads, which a fork leaves behind.
void claim_process();
/// Whether this process was forked from one that had called OpenCL. Every call may wait for ever then.
bool is_forked();
/// Throws when it is.
void require_own_process();

/// Runs `body` where compilers of drivers have room, whatever is left of the caller's stack.
void with_deep_stack(const std::function<void()>& body);

/// Owns one count of an OpenCL object.
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
using ProgramHandle = Handle<cl_program, clReleaseProgram>;
using KernelHandle = Handle<cl_kernel, clReleaseKernel>;
using EventHandle = Handle<cl_event, clReleaseEvent>;

}  // namespace tenon::opencl
