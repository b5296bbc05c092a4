// Wrong programs are found: what they do becomes an error that stays, with a text that says what happened.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/cuda/driver/fake_cuda.h"

namespace tenon::test {
namespace {

constexpr const char* kStore = R"(
  extern "C" __global__ void Store(float* x, int i) { x[i + (int)threadIdx.x] = 1.0f; }
)";

/// Runs `body`, which has to end with this error on every call, and to report a text.
void expect_fault(const Environment& environment, CUresult code, const std::string& text,
                  const std::function<void(const Kernels&)>& body, const char* kernels = kStore) {
  const Ended ended = run_process(environment, [&] {
    const Gpu gpu;
    const Kernels loaded(kernels);
    body(loaded);
    EXPECT_EQ(cuCtxSynchronize(), code);
    EXPECT_EQ(cuCtxSynchronize(), code);
    CUdeviceptr memory = 0;
    EXPECT_EQ(cuMemAlloc(&memory, 16), code);
    CUstream stream = nullptr;
    EXPECT_EQ(cuStreamCreate(&stream, 0), code);
    CUcontext again = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&again, 0), code);
  });
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_NE(ended.errors.find(text), std::string::npos) << ended.errors;
}

TEST(FakeCudaFaults, StoreBehindAnAllocation) {
  expect_fault({}, CUDA_ERROR_ILLEGAL_ADDRESS,
               "kernel 'Store', block (0, 0, 0), thread (2, 0, 0) writes to 0x2", [](const Kernels& kernels) {
                 CUdeviceptr x = 0;
                 EXPECT_CUDA(cuMemAlloc(&x, 1024 * sizeof(float)));
                 EXPECT_CUDA(launch(kernels["Store"], 1, 2, nullptr, x, 1022));
                 EXPECT_CUDA(cuCtxSynchronize());
                 EXPECT_CUDA(launch(kernels["Store"], 2, 3, nullptr, x, 1022));
               });
}

TEST(FakeCudaFaults, StoreFarBehindAndInFrontOfAnAllocation) {
  for (const int index : {2000, 20000, -1000, -5000}) {
    expect_fault({}, CUDA_ERROR_ILLEGAL_ADDRESS,
                 index > 0 ? ": behind an allocation of 3992 bytes" : ": in front of an",
                 [&](const Kernels& kernels) {
                   CUdeviceptr x = 0;
                   EXPECT_CUDA(cuMemAlloc(&x, 3992));
                   EXPECT_CUDA(launch(kernels["Store"], 1, 1, nullptr, x, index));
                 });
  }
}

TEST(FakeCudaFaults, StoreJustBehindAnAllocationIsFoundWhenThatIsFreed) {
  const Ended ended = run_process({}, [] {
    const Gpu gpu;
    const Kernels kernels(kStore);
    CUdeviceptr x = 0;
    EXPECT_CUDA(cuMemAlloc(&x, 100));
    EXPECT_CUDA(launch(kernels["Store"], 1, 1, nullptr, x, 25));
    EXPECT_CUDA(cuMemFree(x));
    EXPECT_CUDA(
        launch(kernels["Store"], 1, 1, nullptr, CUdeviceptr{0}, 0));  // looks first what is to be freed
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  });
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_NE(ended.errors.find("behind the allocation of 100 bytes"), std::string::npos) << ended.errors;
}

TEST(FakeCudaFaults, UseAfterFree) {
  expect_fault({}, CUDA_ERROR_ILLEGAL_ADDRESS, "inside of an allocation of 64 bytes at",
               [](const Kernels& kernels) {
                 CUdeviceptr x = 0;
                 EXPECT_CUDA(cuMemAlloc(&x, 64));
                 EXPECT_CUDA(launch(kernels["Store"], 1, 1, nullptr, x, 0));
                 EXPECT_CUDA(cuMemFree(x));
                 EXPECT_CUDA(launch(kernels["Store"], 1, 1, nullptr, x, 0));
               });
}

TEST(FakeCudaFaults, UseAfterFreeAsync) {
  expect_fault({}, CUDA_ERROR_ILLEGAL_ADDRESS, "that has been freed", [](const Kernels& kernels) {
    CUdeviceptr x = 0;
    EXPECT_CUDA(cuMemAllocAsync(&x, 64, nullptr));
    EXPECT_CUDA(launch(kernels["Store"], 1, 1, nullptr, x, 0));
    EXPECT_CUDA(cuMemFreeAsync(x, nullptr));
    EXPECT_CUDA(launch(kernels["Store"], 1, 1, nullptr, x, 0));
  });
}

TEST(FakeCudaFaults, NullAndMemoryOfTheHost) {
  expect_fault({}, CUDA_ERROR_ILLEGAL_ADDRESS, "writes to 0x10: null", [](const Kernels& kernels) {
    EXPECT_CUDA(launch(kernels["Store"], 1, 1, nullptr, CUdeviceptr{0}, 4));
  });
  static float host = 0;
  expect_fault({}, CUDA_ERROR_ILLEGAL_ADDRESS, "no device memory", [](const Kernels& kernels) {
    EXPECT_CUDA(launch(kernels["Store"], 1, 1, nullptr, reinterpret_cast<CUdeviceptr>(&host), 1 << 30));
  });
}

TEST(FakeCudaFaults, EndlessKernel) {
  expect_fault(
      {{"TIMEOUT", "0.2"}}, CUDA_ERROR_LAUNCH_TIMEOUT, "kernel 'Endless', block (0, 0, 0), thread (0, 0, 0)",
      [](const Kernels& kernels) { EXPECT_CUDA(launch(kernels["Endless"], 2, 2, nullptr)); },
      "extern \"C\" __global__ void Endless() { for (volatile int i = 0;; ++i) {} }");
}

TEST(FakeCudaFaults, BarrierThatSomeThreadsMiss) {
  expect_fault(
      {}, CUDA_ERROR_LAUNCH_FAILED, "13 of 64 threads wait at a barrier, but 51 have returned",
      [](const Kernels& kernels) { EXPECT_CUDA(launch(kernels["Early"], 1, 64, nullptr)); },
      "extern \"C\" __global__ void Early() { if (threadIdx.x > 12) return; __syncthreads(); }");
}

TEST(FakeCudaFaults, ShuffleWithoutItsLane) {
  expect_fault(
      {}, CUDA_ERROR_LAUNCH_FAILED, "with a mask (0xff) that lacks its lane",
      [](const Kernels& kernels) { EXPECT_CUDA(launch(kernels["Lacks"], 1, 32, nullptr)); },
      "extern \"C\" __global__ void Lacks() { __shfl_sync(0xff, 1, 0); }");
}

TEST(FakeCudaFaults, DivisionByZeroAndAssertion) {
  expect_fault(
      {}, CUDA_ERROR_LAUNCH_FAILED, "divides an integer by zero",
      [](const Kernels& kernels) {
        CUdeviceptr x = 0;
        EXPECT_CUDA(cuMemAlloc(&x, 8));
        EXPECT_CUDA(launch(kernels["Divide"], 1, 1, nullptr, x, 0));
      },
      "extern \"C\" __global__ void Divide(int* x, int by) { x[0] = 7 / by; }");
  expect_fault(
      {}, CUDA_ERROR_LAUNCH_FAILED, "assertion failed: x == 1",
      [](const Kernels& kernels) { EXPECT_CUDA(launch(kernels["Check"], 1, 1, nullptr, 2)); },
      "extern \"C\" __global__ void Check(int x) { assert(x == 1); }");
}

TEST(FakeCudaFaults, StackOfAThreadThatIsFull) {
  expect_fault(
      {}, CUDA_ERROR_LAUNCH_FAILED, "the stack of the thread is full",
      [](const Kernels& kernels) {
        CUdeviceptr x = 0;
        EXPECT_CUDA(cuMemAlloc(&x, 8));
        EXPECT_CUDA(launch(kernels["Deep"], 1, 1, nullptr, x, 1 << 20));
      },
      R"(__device__ __noinline__ int deep(volatile int* x, int n) { return n == 0 ? *x : deep(x, n - 1) + *x; }
        extern "C" __global__ void Deep(int* x, int n) { x[0] = deep(x, n); })");
}

/// The child of this process.
pid_t child() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = content_of(entry.path() / "stat");
    const size_t at = stat.rfind(") ");
    if (at != std::string::npos && std::atoi(stat.c_str() + at + 4) == getpid()) return std::stoi(name);
  }
  return 0;
}

TEST(FakeCudaFaults, DeviceThatIsKilled) {
  expect_fault({}, CUDA_ERROR_LAUNCH_FAILED, "the device's process has ended without a word",
               [](const Kernels& kernels) {
                 CUdeviceptr x = 0;
                 EXPECT_CUDA(cuMemAlloc(&x, 8));
                 EXPECT_CUDA(cuCtxSynchronize());
                 ASSERT_NE(child(), 0);
                 kill(child(), SIGKILL);
                 EXPECT_CUDA(launch(kernels["Store"], 1, 1, nullptr, x, 0));
               });
}

// ---- What the environment plants ----

TEST(FakeCudaFaults, LaunchThatFails) {
  in_process({{"FAIL_LAUNCH", "2"}}, [] {
    const Gpu gpu;
    const Kernels kernels("extern \"C\" __global__ void Nothing() {}");
    CUfunction nothing = kernels["Nothing"];
    EXPECT_CUDA(launch(nothing, 1, 1, nullptr));
    EXPECT_EQ(launch(nothing, 1, 1, nullptr), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    EXPECT_CUDA(launch(nothing, 1, 1, nullptr));
    EXPECT_CUDA(cuCtxSynchronize());
  });
}

TEST(FakeCudaFaults, DeviceThatIsLost) {
  const Ended ended = run_process({{"LOST_AFTER", "2"}}, [] {
    const Gpu gpu;
    const Kernels kernels("extern \"C\" __global__ void Nothing() {}");
    CUfunction nothing = kernels["Nothing"];
    EXPECT_CUDA(launch(nothing, 1, 1, nullptr));
    EXPECT_CUDA(cuCtxSynchronize());
    EXPECT_CUDA(launch(nothing, 1, 1, nullptr));
    EXPECT_EQ(launch(nothing, 1, 1, nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_NE(ended.errors.find("TENON_FAKE_CUDA_LOST_AFTER"), std::string::npos);
}

TEST(FakeCudaFaults, OutOfMemory) {
  in_process({{"MEMORY", "4"}}, [] {
    const Gpu gpu;
    size_t free = 0, total = 0;
    EXPECT_CUDA(cuMemGetInfo(&free, &total));
    EXPECT_EQ(total, 4U << 20);
    EXPECT_EQ(free, total);
    CUdeviceptr a = 0, b = 0;
    EXPECT_CUDA(cuMemAlloc(&a, 3 << 20));
    EXPECT_EQ(cuMemAlloc(&b, 2 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuMemAllocAsync(&b, 2 << 20, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuMemAlloc(&b, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_CUDA(cuMemFree(a));
    EXPECT_CUDA(cuMemAlloc(&b, 2 << 20));
    EXPECT_CUDA(cuMemFree(b));
  });
  in_process({{"OOM_AFTER", "2"}}, [] {
    const Gpu gpu;
    CUdeviceptr a = 0;
    EXPECT_CUDA(cuMemAlloc(&a, 8));
    EXPECT_CUDA(cuMemAllocAsync(&a, 8, nullptr));
    EXPECT_EQ(cuMemAlloc(&a, 8), CUDA_ERROR_OUT_OF_MEMORY);
  });
}

TEST(FakeCudaFaults, WrongSettingsAreRefused) {
  for (const auto& [name, value] :
       Environment{{"CC", "nine"}, {"MEMORY", "1G"}, {"RACES", "yes"}, {"TIMEOUT", "0"}}) {
    const Ended ended = run_process({{name, value}}, [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_INVALID_VALUE); });
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_NE(ended.errors.find("TENON_FAKE_CUDA_" + name + "=" + value), std::string::npos) << ended.errors;
  }
}

TEST(FakeCudaFaults, StrictFindsLeaksAndUnwrittenMemory) {
  const Ended clean = run_process({{"STRICT", "1"}}, [] {
    const Gpu gpu;
    const Kernels kernels(kStore);
    const Array<float> x(1000);
    EXPECT_CUDA(launch(kernels["Store"], 1, 1, nullptr, x.address(), 0));
  });
  EXPECT_EQ(clean.status, 0) << clean.errors;
  const Ended leaking = run_process({{"STRICT", "1"}}, [] {
    EXPECT_CUDA(cuInit(0));
    CUcontext context = nullptr;
    EXPECT_CUDA(cuDevicePrimaryCtxRetain(&context, 0));
    EXPECT_CUDA(cuCtxSetCurrent(context));
    CUdeviceptr a = 0, b = 0;
    EXPECT_CUDA(cuMemAlloc(&a, 4096));
    EXPECT_CUDA(cuMemAlloc(&b, 4096));
    CUstream stream = nullptr;
    EXPECT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    const Kernels kernels("extern \"C\" __global__ void Read(const float* x, float* y) { y[0] = x[0]; }");
    EXPECT_CUDA(launch(kernels["Read"], 1, 1, stream, a, b));
    EXPECT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  });
  EXPECT_EQ(leaking.status, 86);
  for (const char* text :
       {"allocated byte, 8192", "stream, 1", "retained primary context, 1", "capture in progress, 1",
        "kernel 'Read' reads an allocation that nothing has been written to"})
    EXPECT_NE(leaking.errors.find(text), std::string::npos) << text << "\n" << leaking.errors;
}

}  // namespace
}  // namespace tenon::test
