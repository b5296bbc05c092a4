// Devices and contexts, and what the environment makes of them.
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <sstream>

#include "tests/cuda/driver/fake_cuda.h"

namespace tenon::test {
namespace {

constexpr const char* kAdd = R"(
  extern "C" __global__ void Add(float* x, float v, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += v;
  }
)";
constexpr int kCount = 5000;

TEST(FakeCudaDevices, SayWhatTheyAre) {
  in_process({{"DEVICES", "2"}, {"CC", "8.6,7.5"}, {"DRIVER", "12040"}, {"MEMORY", "123"}}, [] {
    int version = 0, count = 0, value = 0;
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_CUDA(cuDriverGetVersion(&version));
    EXPECT_EQ(version, 12040);
    EXPECT_CUDA(cuInit(0));
    EXPECT_CUDA(cuInit(0));
    EXPECT_CUDA(cuDeviceGetCount(&count));
    EXPECT_EQ(count, 2);
    CUdevice device = -1;
    EXPECT_CUDA(cuDeviceGet(&device, 1));
    EXPECT_EQ(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(architecture_of(0), "--gpu-architecture=sm_86");
    EXPECT_EQ(architecture_of(1), "--gpu-architecture=sm_75");
    size_t bytes = 0;
    EXPECT_CUDA(cuDeviceTotalMem(&bytes, 1));
    EXPECT_EQ(bytes, 123U << 20);
    EXPECT_CUDA(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    EXPECT_EQ(value, 32);
    EXPECT_EQ(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(100000), 0),
              CUDA_ERROR_INVALID_VALUE);
    char name[64] = {}, bus[32] = {};
    EXPECT_CUDA(cuDeviceGetName(name, sizeof(name), 0));
    EXPECT_NE(name[0], 0);
    EXPECT_CUDA(cuDeviceGetPCIBusId(bus, sizeof(bus), 1));
    EXPECT_CUDA(cuDeviceGetByPCIBusId(&device, bus));
    EXPECT_EQ(device, 1);
    CUuuid one{}, other{};
    EXPECT_CUDA(cuDeviceGetUuid(&one, 0));
    EXPECT_CUDA(cuDeviceGetUuid(&other, 1));
    EXPECT_NE(std::string(one.bytes, 16), std::string(other.bytes, 16));
  });
  in_process({{"DEVICES", "0"}}, [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE); });
}

TEST(FakeCudaDevices, PrimaryContextsAreCounted) {
  in_process({}, [] {
    EXPECT_CUDA(cuInit(0));
    unsigned flags = 0;
    int active = 1;
    EXPECT_CUDA(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_EQ(active, 0);
    CUcontext one = nullptr, other = nullptr;
    EXPECT_CUDA(cuDevicePrimaryCtxRetain(&one, 0));
    EXPECT_CUDA(cuDevicePrimaryCtxRetain(&other, 0));
    EXPECT_EQ(one, other);
    EXPECT_CUDA(cuCtxPushCurrent(one));
    CUdevice device = -1;
    EXPECT_CUDA(cuCtxGetDevice(&device));
    EXPECT_EQ(device, 0);
    CUdeviceptr memory = 0;
    EXPECT_CUDA(cuMemAlloc(&memory, 64));
    EXPECT_CUDA(cuDevicePrimaryCtxRelease(0));
    EXPECT_CUDA(cuMemFree(memory));
    EXPECT_CUDA(cuMemAlloc(&memory, 64));
    EXPECT_CUDA(cuDevicePrimaryCtxRelease(0));
    EXPECT_EQ(cuMemFree(memory), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
    CUcontext popped = nullptr;
    EXPECT_CUDA(cuCtxPopCurrent(&popped));
    EXPECT_EQ(popped, one);
    EXPECT_EQ(cuCtxPopCurrent(&popped), CUDA_ERROR_INVALID_CONTEXT);
    // Again from the beginning, in a new process.
    const Gpu gpu;
    EXPECT_EQ(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
    const Kernels kernels(kAdd);
    const Array<float> x(std::vector<float>(kCount, 1.0f));
    EXPECT_CUDA(launch(kernels["Add"], 1, 64, nullptr, x.address(), 1.0f, kCount));
    EXPECT_EQ(x.values()[kCount - 1], 2.0f);
    EXPECT_CUDA(cuDevicePrimaryCtxReset(0));
  });
}

TEST(FakeCudaDevices, CopyToEachOther) {
  for (const char* peer : {"0", "1"}) {
    in_process({{"DEVICES", "2"}, {"PEER", peer}, {"RACES", "1"}}, [&] {
      const bool can = *peer == '1';
      const Gpu one(0), other(1);
      int access = -1;
      EXPECT_CUDA(cuDeviceCanAccessPeer(&access, 0, 1));
      EXPECT_EQ(access, can ? 1 : 0);
      EXPECT_CUDA(cuDeviceCanAccessPeer(&access, 0, 0));
      EXPECT_EQ(access, 0);
      one.make_current();
      const Array<float> x(std::vector<float>(kCount, 3.0f));
      const Kernels on_one(kAdd);
      const Stream stream;
      const Event ready;
      EXPECT_CUDA(launch(on_one["Add"], 1, 64, stream, x.address(), 1.0f, kCount));
      EXPECT_CUDA(cuEventRecord(ready, stream));
      other.make_current();
      const Kernels on_other(kAdd);
      const Array<float> y(kCount);
      const Stream second;
      // An event orders streams of two devices.
      EXPECT_CUDA(cuStreamWaitEvent(second, ready, 0));
      EXPECT_CUDA(
          cuMemcpyPeerAsync(y.address(), other.context(), x.address(), one.context(), kCount * 4, second));
      EXPECT_CUDA(launch(on_other["Add"], 1, 64, second, y.address(), 2.0f, kCount));
      EXPECT_CUDA(cuMemcpyDtoDAsync(x.address(), y.address(), kCount * 4, second));
      EXPECT_CUDA(cuStreamSynchronize(second));
      EXPECT_EQ(y.values()[17], 6.0f);
      EXPECT_EQ(cuMemcpyPeerAsync(y.address(), one.context(), x.address(), one.context(), 4, second),
                CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(launch(on_one["Add"], 1, 64, second, y.address(), 2.0f, kCount), CUDA_ERROR_INVALID_HANDLE);
      one.make_current();
      EXPECT_EQ(x.values()[kCount - 1], 6.0f);
    });
  }
}

TEST(FakeCudaDevices, KernelsAccessPeersThatAreEnabled) {
  in_process({{"DEVICES", "2"}}, [] {
    const Gpu one(0), other(1);
    one.make_current();
    const Array<float> before(std::vector<float>(kCount, 3.0f));
    other.make_current();
    EXPECT_CUDA(cuCtxEnablePeerAccess(one.context(), 0));
    EXPECT_EQ(cuCtxEnablePeerAccess(one.context(), 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    one.make_current();
    const Array<float> behind(std::vector<float>(kCount, 4.0f));
    other.make_current();
    const Kernels kernels(kAdd);
    for (const auto* x : {&before, &behind})
      EXPECT_CUDA(launch(kernels["Add"], 1, 64, nullptr, x->address(), 1.0f, kCount));
    EXPECT_CUDA(cuCtxSynchronize());
    one.make_current();
    EXPECT_EQ(before.values()[kCount - 1], 4.0f);
    EXPECT_EQ(behind.values()[kCount - 1], 5.0f);
  });
  const Ended ended = run_process({{"DEVICES", "2"}}, [] {
    const Gpu one(0);
    const Array<float> x(std::vector<float>(kCount, 3.0f));
    const Gpu other(1);
    const Kernels kernels(kAdd);
    EXPECT_CUDA(launch(kernels["Add"], 1, 64, nullptr, x.address(), 1.0f, kCount));
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    one.make_current();
    EXPECT_CUDA(cuCtxSynchronize());  // the error is the other context's
  });
  EXPECT_EQ(ended.status, 0) << ended.errors;
}

TEST(FakeCudaDevices, PoolsGiveAccessToPeers) {
  in_process({{"DEVICES", "2"}}, [] {
    const Gpu one(0), other(1);
    one.make_current();
    CUmemoryPool pool = nullptr;
    EXPECT_CUDA(cuDeviceGetDefaultMemPool(&pool, 0));
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE, access.location.id = 1;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    EXPECT_CUDA(cuMemPoolSetAccess(pool, &access, 1));
    CUdeviceptr x = 0;
    EXPECT_CUDA(cuMemAllocAsync(&x, kCount * 4, nullptr));
    EXPECT_CUDA(cuMemsetD32Async(x, 0, kCount, nullptr));
    EXPECT_CUDA(cuCtxSynchronize());
    other.make_current();
    const Kernels kernels(kAdd);
    EXPECT_CUDA(launch(kernels["Add"], 1, 64, nullptr, x, 1.5f, kCount));
    EXPECT_CUDA(cuCtxSynchronize());
    one.make_current();
    float value = 0;
    EXPECT_CUDA(cuMemcpyDtoH(&value, x + 400, 4));
    EXPECT_EQ(value, 1.5f);
    EXPECT_CUDA(cuMemFreeAsync(x, nullptr));
  });
}

TEST(FakeCudaDevices, AForkedChildHasNoDriver) {
  in_process({}, [] {
    const Gpu gpu;
    const Array<float> x(std::vector<float>(kCount, 1.0f));
    const pid_t process = fork();
    if (process == 0) {
      CUdeviceptr memory = 0;
      int count = 0;
      const bool right = cuMemAlloc(&memory, 16) == CUDA_ERROR_NOT_INITIALIZED &&
                         cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
                         cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                         cuMemFree(x.address()) == CUDA_ERROR_NOT_INITIALIZED;
      _exit(right ? 0 : 1);
    }
    int status = -1;
    waitpid(process, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(x.values()[9], 1.0f);
  });
}

TEST(FakeCudaDevices, CountsAndLog) {
  const std::string counts = temporary_path("counts"), log = temporary_path("log");
  in_process({{"COUNTS", counts}, {"LOG", log}}, [] {
    const Gpu gpu;
    const Kernels kernels(kAdd);
    const Array<float> x(std::vector<float>(kCount, 1.0f));
    const Stream stream;
    for (int i = 0; i < 3; ++i) EXPECT_CUDA(launch(kernels["Add"], 1, 64, stream, x.address(), 1.0f, kCount));
    EXPECT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_CUDA(launch(kernels["Add"], 1, 64, stream, x.address(), 1.0f, kCount));
    EXPECT_CUDA(launch(kernels["Add"], 1, 64, stream, x.address(), 1.0f, kCount));
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    EXPECT_CUDA(cuStreamEndCapture(stream, &graph));
    EXPECT_CUDA(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 5; ++i) EXPECT_CUDA(cuGraphLaunch(exec, stream));
    EXPECT_EQ(cuMemFree(CUdeviceptr{1}), CUDA_ERROR_INVALID_VALUE);
  });
  std::istringstream lines(content_of(counts));
  std::map<std::string, int> all;
  std::string name;
  for (int count = 0; lines >> name >> count;) all[name] = count;
  EXPECT_EQ(all["Add"], 13);
  EXPECT_EQ(all["cuLaunchKernel"], 5);
  EXPECT_EQ(all["cuGraphLaunch"], 5);
  EXPECT_EQ(all["cuStreamCreate"], 1);
  const std::string text = content_of(log);
  for (const char* line :
       {"cuInit = CUDA_SUCCESS\n", "cuLaunchKernel Add grid 1,1,1 block 64,1,1 shared 0 stream ",
        "cuMemFree = CUDA_ERROR_INVALID_VALUE (no allocation begins there)\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  std::filesystem::remove(counts);
  std::filesystem::remove(log);
}

TEST(FakeCudaDevices, BlankKernelsDoNothing) {
  in_process({{"BLANK", "Other,Add"}}, [] {
    const Gpu gpu;
    const Kernels kernels(kAdd);
    const Array<float> x(std::vector<float>(kCount, 1.0f));
    EXPECT_CUDA(launch(kernels["Add"], 1, 64, nullptr, x.address(), 1.0f, kCount));
    EXPECT_EQ(x.values()[3], 1.0f);
  });
}

TEST(FakeCudaDevices, FunctionsAreFoundByName) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  for (const char* name : {"cuMemAlloc", "cuMemAlloc_v2", "cuStreamDestroy", "cuLaunchKernel",
                           "cuGetProcAddress", "tenon_fake_cuda_enqueue"}) {
    EXPECT_CUDA(cuGetProcAddress(name, &function, 13000, 0, &status)) << name;
    EXPECT_NE(function, nullptr);
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
  }
  EXPECT_CUDA(cuGetProcAddress("cuMemAlloc", &function, 13000, 0, nullptr));
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemAlloc));
  EXPECT_EQ(cuGetProcAddress("cuNothing", &function, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  const char* text = nullptr;
  EXPECT_CUDA(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_CUDA(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(1000), &text), CUDA_ERROR_INVALID_VALUE);
}

TEST(FakeCudaDevices, AStreamThatWaitsForALostDeviceIsLostToo) {
  const Ended ended = run_process({{"DEVICES", "2"}, {"DELAY_US", "300000"}}, [] {
    const Gpu other(1);
    const Stream second;
    const Gpu one(0);
    const Kernels kernels(kAdd);
    const Stream first;
    const Event event;
    EXPECT_CUDA(launch(kernels["Add"], 1, 64, first, CUdeviceptr{8}, 1.0f, kCount));
    EXPECT_CUDA(cuEventRecord(event, first));
    other.make_current();
    EXPECT_CUDA(cuStreamWaitEvent(second, event, 0));
    EXPECT_EQ(cuStreamSynchronize(second), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_NE(ended.errors.find("a stream waits for device 0, which is lost"), std::string::npos)
      << ended.errors;
}

TEST(FakeCudaDevices, ContextsAreMadeFast) {
  in_process({}, [] {
    EXPECT_CUDA(cuInit(0));
    const clock_t begin = clock();
    for (int i = 0; i < 10; ++i) {
      const Gpu gpu;
      EXPECT_CUDA(cuCtxSynchronize());
    }
    EXPECT_LT(clock() - begin, CLOCKS_PER_SEC);  // of the processor, for all ten
  });
}

}  // namespace
}  // namespace tenon::test
