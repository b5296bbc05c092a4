// Streams, events, copies and functions of the host come in the order that CUDA says.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/cuda/driver/fake_cuda.h"

namespace tenon::test {
namespace {

constexpr const char* kFill = R"(
  extern "C" __global__ void Fill(float* x, float v, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = v;
  }
  extern "C" __global__ void Add(float* x, float v, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += v;
  }
)";
constexpr int kCount = 1000;

struct Pinned {
  explicit Pinned(size_t count) { EXPECT_CUDA(cuMemHostAlloc(&memory, count * sizeof(float), 0)); }
  ~Pinned() { cuMemFreeHost(memory); }
  float* begin() const { return static_cast<float*>(memory); }
  void* memory = nullptr;
};

TEST(FakeCudaStreams, WorkOfAStreamComesInOrder) {
  in_process({{"DELAY_US", "1000"}}, [] {
    const Gpu gpu;
    const Kernels kernels(kFill);
    const Array<float> x(kCount);
    const Pinned host(kCount);
    std::fill_n(host.begin(), kCount, 10.0f);
    {
      const Stream stream;
      EXPECT_CUDA(cuMemcpyHtoDAsync(x.address(), host.memory, kCount * 4, stream));
      EXPECT_CUDA(launch(kernels["Add"], 1, 64, stream, x.address(), 1.0f, kCount));
      EXPECT_CUDA(launch(kernels["Add"], 1, 64, stream, x.address(), 2.0f, kCount));
      EXPECT_CUDA(cuMemcpyDtoHAsync(host.memory, x.address(), kCount * 4, stream));
      EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
      EXPECT_EQ(host.begin()[0], 10.0f);
      EXPECT_CUDA(cuStreamSynchronize(stream));
      EXPECT_EQ(host.begin()[kCount - 1], 13.0f);
      EXPECT_CUDA(cuMemsetD32Async(x.address(), 0x40000000, kCount, stream));
      EXPECT_CUDA(launch(kernels["Add"], 1, 64, stream, x.address(), 2.0f, kCount));
    }  // its work is done after it is destroyed
    EXPECT_CUDA(cuCtxSynchronize());
    EXPECT_EQ(x.values()[5], 4.0f);
  });
}

TEST(FakeCudaStreams, EventsOrderStreams) {
  in_process({{"DELAY_US", "3000"}, {"RACES", "1"}}, [] {
    const Gpu gpu;
    const Kernels kernels(kFill);
    const Array<float> x(kCount);
    const Stream one, other;
    const Event filled(CU_EVENT_DISABLE_TIMING);
    for (int round = 0; round < 3; ++round) {
      EXPECT_CUDA(launch(kernels["Fill"], 1, 64, one, x.address(), static_cast<float>(round), kCount));
      EXPECT_CUDA(cuEventRecord(filled, one));
      EXPECT_CUDA(cuStreamWaitEvent(other, filled, 0));
      EXPECT_CUDA(launch(kernels["Add"], 1, 64, other, x.address(), 5.0f, kCount));
      EXPECT_CUDA(cuStreamSynchronize(other));
      EXPECT_EQ(x.values()[7], static_cast<float>(round) + 5.0f);
    }
  });
}

TEST(FakeCudaStreams, TheNullStreamAndBlockingStreamsWaitForEachOther) {
  in_process({{"DELAY_US", "3000"}, {"RACES", "1"}}, [] {
    const Gpu gpu;
    const Kernels kernels(kFill);
    const Array<float> x(kCount);
    const Stream blocking(CU_STREAM_DEFAULT);
    EXPECT_CUDA(launch(kernels["Fill"], 1, 64, blocking, x.address(), 1.0f, kCount));
    EXPECT_CUDA(launch(kernels["Add"], 1, 64, nullptr, x.address(), 1.0f, kCount));
    EXPECT_CUDA(launch(kernels["Add"], 1, 64, blocking, x.address(), 1.0f, kCount));
    EXPECT_EQ(x.values()[7], 3.0f);
  });
}

TEST(FakeCudaStreams, CopiesOfAllKinds) {
  in_process({{"RACES", "1"}}, [] {
    const Gpu gpu;
    const Stream stream;
    const size_t small = 100, large = 100'000;
    for (const size_t count : {small, large}) {
      const Array<float> a(count), b(count);
      std::vector<float> pageable(count, 7.0f), back(count), registered(count, 3.0f);
      EXPECT_CUDA(cuMemcpyHtoDAsync(a.address(), pageable.data(), count * 4, stream));
      EXPECT_CUDA(cuMemcpyDtoDAsync(b.address(), a.address(), count * 4, stream));
      EXPECT_CUDA(cuMemcpyDtoHAsync(back.data(), b.address(), count * 4, stream));
      EXPECT_EQ(back, pageable);
      EXPECT_CUDA(cuMemHostRegister(registered.data(), count * 4, 0));
      EXPECT_EQ(cuMemHostRegister(registered.data() + 1, 4, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
      EXPECT_CUDA(
          cuMemcpyAsync(a.address(), reinterpret_cast<CUdeviceptr>(registered.data()), count * 4, stream));
      EXPECT_CUDA(cuMemcpyAsync(b.address(), a.address(), count * 4, stream));
      EXPECT_CUDA(cuMemsetD8Async(a.address(), 0, count * 4, stream));
      EXPECT_CUDA(cuStreamSynchronize(stream));
      EXPECT_EQ(b.values(), registered);
      EXPECT_EQ(a.values(), std::vector<float>(count, 0.0f));
      EXPECT_CUDA(cuMemHostUnregister(registered.data()));
      EXPECT_EQ(cuMemHostUnregister(registered.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
      EXPECT_CUDA(cuMemcpy(a.address(), b.address(), count * 4));
      EXPECT_CUDA(cuMemcpy(reinterpret_cast<CUdeviceptr>(back.data()), a.address(), count * 4));
      EXPECT_EQ(back, registered);
      EXPECT_EQ(cuMemcpyHtoD(a.address(), back.data(), count * 4 + 4), CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(cuMemcpyHtoD(a.address() + 4, back.data(), count * 4), CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(cuMemcpyDtoH(back.data(), CUdeviceptr{4096}, 4), CUDA_ERROR_INVALID_VALUE);
    }
  });
}

TEST(FakeCudaStreams, PinnedMemoryIsTheDevicesToo) {
  in_process({}, [] {
    const Gpu gpu;
    const Kernels kernels(kFill);
    const Pinned host(kCount);
    CUdeviceptr address = 0;
    EXPECT_CUDA(cuMemHostGetDevicePointer(&address, host.memory, 0));
    EXPECT_CUDA(launch(kernels["Fill"], 1, 64, nullptr, address, 2.5f, kCount));
    EXPECT_CUDA(cuCtxSynchronize());
    EXPECT_EQ(host.begin()[kCount - 1], 2.5f);
    unsigned type = 0;
    EXPECT_CUDA(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
    EXPECT_EQ(cuMemcpyDtoHAsync(host.begin() + 1, address, kCount * 4, nullptr), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(FakeCudaStreams, FunctionsOfTheHostRunInOrder) {
  in_process({{"DELAY_US", "2000"}}, [] {
    const Gpu gpu;
    const Kernels kernels(kFill);
    const Pinned host(1);
    host.begin()[0] = 0;
    const Stream stream;
    CUdeviceptr address = 0;
    EXPECT_CUDA(cuMemHostGetDevicePointer(&address, host.memory, 0));
    EXPECT_CUDA(launch(kernels["Fill"], 1, 1, stream, address, 5.0f, 1));
    EXPECT_CUDA(cuLaunchHostFunc(
        stream, [](void* data) { *static_cast<float*>(data) *= 2; }, host.memory));
    EXPECT_CUDA(launch(kernels["Add"], 1, 1, stream, address, 1.0f, 1));
    EXPECT_CUDA(cuStreamSynchronize(stream));
    EXPECT_EQ(host.begin()[0], 11.0f);
  });
}

TEST(FakeCudaStreams, ManyLaunchesFillTheQueue) {
  in_process({}, [] {
    const Gpu gpu;
    const Kernels kernels(kFill);
    const Array<float> x(std::vector<float>{0});
    const Stream stream;
    CUfunction add = kernels["Add"];
    const int launches = 20'000;
    for (int i = 0; i < launches; ++i) ASSERT_CUDA(launch(add, 1, 1, stream, x.address(), 1.0f, 1));
    EXPECT_CUDA(cuStreamSynchronize(stream));
    EXPECT_EQ(x.values()[0], static_cast<float>(launches));
  });
}

TEST(FakeCudaStreams, ThreadsLaunchAtOnce) {
  in_process({{"RACES", "1"}}, [] {
    const Gpu gpu;
    const Kernels kernels(kFill);
    CUfunction add = kernels["Add"];
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        gpu.make_current();
        const Stream stream;
        for (int round = 0; round < 50; ++round) {
          CUdeviceptr x = 0;
          float value = -1;
          const bool ok = cuMemAllocAsync(&x, 4, stream) == CUDA_SUCCESS &&
                          cuMemsetD32Async(x, 0, 1, stream) == CUDA_SUCCESS &&
                          launch(add, 1, 1, stream, x, static_cast<float>(round), 1) == CUDA_SUCCESS &&
                          cuMemcpyDtoHAsync(&value, x, 4, stream) == CUDA_SUCCESS &&
                          cuMemFreeAsync(x, stream) == CUDA_SUCCESS &&
                          cuStreamSynchronize(stream) == CUDA_SUCCESS;
          if (!ok || value != static_cast<float>(round)) ++failures;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failures, 0);
  });
}

TEST(FakeCudaStreams, WrongHandlesAreRefused) {
  in_process({}, [] {
    const Gpu gpu;
    CUstream stream = nullptr;
    EXPECT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT_CUDA(cuStreamDestroy(stream));
    EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
    const Event event;
    EXPECT_EQ(cuStreamSynchronize(reinterpret_cast<CUstream>(event.handle)), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuStreamCreate(&stream, 7), CUDA_ERROR_INVALID_VALUE);
    float milliseconds = 0;
    EXPECT_EQ(cuEventElapsedTime(&milliseconds, event, event), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_CUDA(cuEventQuery(event));  // never recorded
    EXPECT_EQ(cuMemFree(CUdeviceptr{12345}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_CUDA(cuCtxSetCurrent(nullptr));
    EXPECT_EQ(cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
    gpu.make_current();
  });
}

// ---- Pools ----

TEST(FakeCudaPools, HaveALimitAndCounters) {
  in_process({}, [] {
    const Gpu gpu;
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE, properties.location.id = 0;
    properties.maxSize = 1 << 20;
    CUmemoryPool pool = nullptr;
    EXPECT_CUDA(cuMemPoolCreate(&pool, &properties));
    const Stream stream;
    CUdeviceptr a = 0, b = 0;
    EXPECT_CUDA(cuMemAllocFromPoolAsync(&a, 600 << 10, pool, stream));
    EXPECT_EQ(cuMemAllocFromPoolAsync(&b, 600 << 10, pool, stream), CUDA_ERROR_OUT_OF_MEMORY);
    const auto value = [&](CUmemPool_attribute attribute) {
      cuuint64_t out = 0;
      EXPECT_CUDA(cuMemPoolGetAttribute(pool, attribute, &out));
      return out;
    };
    EXPECT_EQ(value(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 600U << 10);
    cuuint64_t all = UINT64_MAX;
    EXPECT_CUDA(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
    EXPECT_CUDA(cuMemFreeAsync(a, stream));
    EXPECT_CUDA(cuStreamSynchronize(stream));
    EXPECT_EQ(value(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0U);
    EXPECT_EQ(value(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 600U << 10);
    EXPECT_CUDA(cuMemPoolTrimTo(pool, 0));
    EXPECT_EQ(value(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0U);
    EXPECT_EQ(value(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 600U << 10);
    EXPECT_EQ(cuMemFreeAsync(a, stream), CUDA_ERROR_INVALID_VALUE);
    EXPECT_CUDA(cuMemPoolDestroy(pool));
    EXPECT_EQ(cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_HANDLE);
  });
}

TEST(FakeCudaPools, MayBeMissing) {
  in_process({{"POOLS", "0"}}, [] {
    const Gpu gpu;
    int has = 1;
    EXPECT_CUDA(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0));
    EXPECT_EQ(has, 0);
    CUdeviceptr a = 0;
    EXPECT_EQ(cuMemAllocAsync(&a, 8, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  });
}

}  // namespace
}  // namespace tenon::test
