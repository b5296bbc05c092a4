// Tests of the stand-ins for the driver and NVRTC. The environment is read once in a process, so each test has its own.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>
#include <nvrtc.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tenon::test {

using Environment = std::map<std::string, std::string>;

/// How a process of a test has ended.
struct Ended {
  int status = 0;      // of exit
  std::string errors;  // what it wrote to standard error
};
/// Runs `body` in a process with these TENON_FAKE_CUDA_ variables ("CC" is TENON_FAKE_CUDA_CC). What fails in it is on its
/// standard error, and makes its status 1.
Ended run_process(const Environment& environment, const std::function<void()>& body);
/// The same, and fails here if the process fails.
void in_process(const Environment& environment, const std::function<void()>& body);

#define EXPECT_CUDA(call) EXPECT_EQ(call, CUDA_SUCCESS)
#define ASSERT_CUDA(call) ASSERT_EQ(call, CUDA_SUCCESS)

/// The architecture that a device has.
std::string architecture_of(CUdevice device = 0);
struct Compiled {
  nvrtcResult result = NVRTC_SUCCESS;
  std::string log, cubin, ptx;
};
Compiled compile_kernels(const std::string& text, std::vector<std::string> options = {});

/// The primary context of a device, current in this thread.
class Gpu {
 public:
  explicit Gpu(int ordinal = 0);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  CUcontext context() const { return context_; }
  void make_current() const { EXPECT_CUDA(cuCtxSetCurrent(context_)); }

 private:
  int ordinal_;
  CUcontext context_ = nullptr;
};

/// Kernels, compiled for the current device and loaded.
class Kernels {
 public:
  explicit Kernels(const std::string& text, std::vector<std::string> options = {});
  ~Kernels() { cuModuleUnload(module_); }
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;
  CUfunction operator[](const char* name) const;

 private:
  CUmodule module_ = nullptr;
};

/// Device memory of cuMemAlloc.
template <class T>
class Array {
 public:
  explicit Array(size_t count) : count_(count) { EXPECT_CUDA(cuMemAlloc(&address_, count * sizeof(T))); }
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    EXPECT_CUDA(cuMemcpyHtoD(address_, values.data(), count_ * sizeof(T)));
  }
  ~Array() { cuMemFree(address_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  const CUdeviceptr& address() const { return address_; }
  std::vector<T> values() const {
    std::vector<T> out(count_);
    EXPECT_CUDA(cuMemcpyDtoH(out.data(), address_, count_ * sizeof(T)));
    return out;
  }

 private:
  size_t count_;
  CUdeviceptr address_ = 0;
};

struct Stream {
  explicit Stream(unsigned flags = CU_STREAM_NON_BLOCKING) { EXPECT_CUDA(cuStreamCreate(&handle, flags)); }
  ~Stream() { cuStreamDestroy(handle); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator CUstream() const { return handle; }
  CUstream handle = nullptr;
};

struct Event {
  explicit Event(unsigned flags = CU_EVENT_DEFAULT) { EXPECT_CUDA(cuEventCreate(&handle, flags)); }
  ~Event() { cuEventDestroy(handle); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator CUevent() const { return handle; }
  CUevent handle = nullptr;
};

/// Arguments may be numbers and addresses of Arrays.
template <class... A>
CUresult launch(CUfunction kernel, unsigned blocks, unsigned threads, CUstream stream, A... arguments) {
  void* addresses[] = {&arguments..., nullptr};
  return cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, addresses, nullptr);
}

std::string content_of(const std::string& path);
/// A path below the build folder that no other process uses.
std::string temporary_path(const std::string& name);

}  // namespace tenon::test
