// Kernels run as CUDA says.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "tenon/ep/numeric.hpp"
#include "tests/cuda/driver/fake_cuda.h"

namespace tenon::test {
namespace {

std::vector<float> numbers(size_t count, float step) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(i) * step;
  return out;
}

TEST(FakeCudaKernels, AddsVectors) {
  in_process({}, [] {
    const Gpu gpu;
    const Kernels kernels(R"(
      extern "C" __global__ void Add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                     int n) {
        for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
          c[i] = a[i] + b[i];
      })");
    const size_t n = 1000;
    const Array<float> a(numbers(n, 1)), b(numbers(n, 0.5f)), c(n);
    EXPECT_CUDA(
        launch(kernels["Add"], 3, 128, nullptr, a.address(), b.address(), c.address(), static_cast<int>(n)));
    EXPECT_EQ(c.values(), numbers(n, 1.5f));
  });
}

TEST(FakeCudaKernels, BarriersAndShufflesReduceABlock) {
  in_process({}, [] {
    const Gpu gpu;
    const Kernels kernels(R"(
      __device__ float warp_sum(float v) {
        for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
        return v;
      }
      extern "C" __global__ void Sum(const float* x, float* y, int n) {
        __shared__ float parts[32];
        float v = 0;
        for (int i = threadIdx.x; i < n; i += blockDim.x) v += x[blockIdx.x * n + i];
        v = warp_sum(v);
        if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
        __syncthreads();
        v = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0.0f;
        if (threadIdx.x < 32) v = warp_sum(v);
        if (threadIdx.x == 0) y[blockIdx.x] = v;
        __syncthreads();
        parts[threadIdx.x % 32] = 1e30f;  // of no effect on the next block
      })");
    const int n = 777, rows = 5;
    std::vector<float> x(static_cast<size_t>(n) * rows);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
    const Array<float> in(x), out(rows);
    EXPECT_CUDA(launch(kernels["Sum"], rows, 256, nullptr, in.address(), out.address(), n));
    for (int row = 0; row < rows; ++row) {
      const auto begin = x.begin() + row * n;
      EXPECT_EQ(out.values()[static_cast<size_t>(row)], std::accumulate(begin, begin + n, 0.0f)) << row;
    }
  });
}

TEST(FakeCudaKernels, WarpsHaveAllTheirOperations) {
  in_process({}, [] {
    const Gpu gpu;
    const Kernels kernels(R"(
      extern "C" __global__ void Warp(int* out) {
        const int lane = threadIdx.x;
        int* own = out + lane * 10;
        own[0] = __shfl_sync(~0u, lane * 3, 7);
        own[1] = __shfl_up_sync(~0u, lane, 2);
        own[2] = __shfl_down_sync(~0u, lane, 5);
        own[3] = __shfl_sync(~0u, lane, 1, 8);
        own[4] = (int)__ballot_sync(~0u, lane % 2);
        own[5] = __any_sync(~0u, lane == 9) * 2 + __all_sync(~0u, lane < 31);
        own[6] = (int)__reduce_add_sync(~0u, (unsigned)lane);
        own[7] = __reduce_min_sync(~0u, 5 - lane);
        own[8] = __popc(__match_any_sync(~0u, lane / 4));
        if (lane < 16) own[9] = __shfl_xor_sync(0xffffu, lane, 1);
        __syncwarp();
      })");
    const Array<int> out(320);
    EXPECT_CUDA(launch(kernels["Warp"], 1, 32, nullptr, out.address()));
    const std::vector<int> values = out.values();
    for (int lane = 0; lane < 32; ++lane) {
      const int* own = values.data() + lane * 10;
      EXPECT_EQ(own[0], 21);
      EXPECT_EQ(own[1], lane < 2 ? lane : lane - 2);
      EXPECT_EQ(own[2], lane + 5 < 32 ? lane + 5 : lane);
      EXPECT_EQ(own[3], lane / 8 * 8 + 1);
      EXPECT_EQ(static_cast<unsigned>(own[4]), 0xAAAAAAAAU);
      EXPECT_EQ(own[5], 2);
      EXPECT_EQ(own[6], 496);
      EXPECT_EQ(own[7], -26);
      EXPECT_EQ(own[8], 4);
      EXPECT_TRUE(lane >= 16 || own[9] == (lane ^ 1)) << own[9];
    }
  });
}

TEST(FakeCudaKernels, SharedMemoryOfALaunchHasItsSize) {
  in_process({}, [] {
    const Gpu gpu;
    const Kernels kernels(R"(
      extern __shared__ __align__(16) float all[];
      extern "C" __global__ void Reverse(float* x) {
        extern __shared__ float4 same[];
        all[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        const float4 v = same[(blockDim.x - 1 - threadIdx.x) / 4];
        const int rest = (blockDim.x - 1 - threadIdx.x) % 4;
        x[threadIdx.x] = rest == 0 ? v.x : rest == 1 ? v.y : rest == 2 ? v.z : v.w;
      })");
    const Array<float> x(numbers(64, 1));
    CUfunction reverse = kernels["Reverse"];
    void* arguments[] = {const_cast<CUdeviceptr*>(&x.address())};
    EXPECT_CUDA(cuLaunchKernel(reverse, 1, 1, 1, 64, 1, 1, 256, nullptr, arguments, nullptr));
    std::vector<float> expected = numbers(64, 1);
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(x.values(), expected);
    EXPECT_EQ(cuLaunchKernel(reverse, 1, 1, 1, 64, 1, 1, 60 << 10, nullptr, arguments, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_CUDA(cuFuncSetAttribute(reverse, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60 << 10));
    EXPECT_CUDA(cuLaunchKernel(reverse, 1, 1, 1, 64, 1, 1, 60 << 10, nullptr, arguments, nullptr));
    EXPECT_EQ(x.values(), numbers(64, 1));
    EXPECT_EQ(cuFuncSetAttribute(reverse, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 300 << 10),
              CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(FakeCudaKernels, UnwrittenMemoryIsNotANumber) {
  in_process({}, [] {
    const Gpu gpu;
    const Kernels kernels(R"(
      extern "C" __global__ void Look(const float* x, float* y) {
        __shared__ float s[4];
        extern __shared__ float d[];
        if (threadIdx.x == 0) { y[0] = x[3]; y[1] = s[1]; y[2] = d[2]; y[3] = __shfl_sync(~0u, 1.0f, 31); }
      })");
    const Array<float> x(100), y(4);
    CUfunction look = kernels["Look"];
    void* arguments[] = {const_cast<CUdeviceptr*>(&x.address()), const_cast<CUdeviceptr*>(&y.address())};
    EXPECT_CUDA(cuLaunchKernel(look, 1, 1, 1, 1, 1, 1, 64, nullptr, arguments, nullptr));
    for (const float value : y.values()) EXPECT_TRUE(std::isnan(value)) << value;
  });
}

TEST(FakeCudaKernels, HalvesAreConvertedToTheNearestEven) {
  in_process({}, [] {
    const Gpu gpu;
    const Kernels kernels(R"(
      extern "C" __global__ void Half(const float* x, unsigned short* bits, float* back, int n) {
        const int i = threadIdx.x;
        if (i >= n) return;
        unsigned short half;
        asm("{ cvt.rn.f16.f32 %0, %1; }\n" : "=h"(half) : "f"(x[i]));
        bits[i] = half;
        asm volatile("cvt.f32.f16 %0, %1;" : "=f"(back[i]) : "h"(half));
      })");
    const std::vector<float> x = {0.0f,    -0.0f,     1.0f,    -2.5f, 65504.0f, 65519.9f,      65520.0f,
                                  1e30f,   -INFINITY, 6.1e-5f, 6e-8f, 2.9e-8f,  3.1e-8f,       2049.0f,
                                  2051.0f, NAN,       0.1f,    1e-7f, 5.97e-8f, 1.00048828125f};
    const Array<float> in(x), back(x.size());
    const Array<uint16_t> bits(x.size());
    EXPECT_CUDA(launch(kernels["Half"], 1, 32, nullptr, in.address(), bits.address(), back.address(),
                       static_cast<int>(x.size())));
    for (size_t i = 0; i < x.size(); ++i) {
      const ep::Float16 expected(x[i]);
      if (std::isnan(x[i])) {
        EXPECT_TRUE(std::isnan(back.values()[i]));
      } else {
        EXPECT_EQ(bits.values()[i], expected.bits) << x[i];
        EXPECT_EQ(back.values()[i], static_cast<float>(expected)) << x[i];
      }
    }
  });
}

TEST(FakeCudaKernels, AtomicsAddUpOverBlocks) {
  in_process({}, [] {
    const Gpu gpu;
    const Kernels kernels(R"(
      extern "C" __global__ void Count(int* a, float* b, unsigned long long* c, unsigned* d) {
        atomicAdd(a, 1);
        atomicAdd(b, 0.5f);
        atomicMax(c, (unsigned long long)(blockIdx.x * 100 + threadIdx.x));
        atomicCAS(d, 0u, threadIdx.x + 1);
        atomicOr((int*)d + 1, 1 << blockIdx.x);
        atomicMin(a + 1, -(int)threadIdx.x);
        atomicExch(a + 2, 5);
      })");
    const Array<int> a(std::vector<int>{0, 0, 0});
    const Array<float> b(std::vector<float>{0});
    const Array<uint64_t> c(std::vector<uint64_t>{0});
    const Array<unsigned> d(std::vector<unsigned>{0, 0});
    EXPECT_CUDA(launch(kernels["Count"], 4, 33, nullptr, a.address(), b.address(), c.address(), d.address()));
    EXPECT_EQ(a.values(), (std::vector<int>{132, -32, 5}));
    EXPECT_EQ(b.values()[0], 66);
    EXPECT_EQ(c.values()[0], 332U);
    EXPECT_EQ(d.values(), (std::vector<unsigned>{1, 15}));
  });
}

TEST(FakeCudaKernels, ThreadsAndBlocksHaveThreeDimensions) {
  in_process({}, [] {
    const Gpu gpu;
    const Kernels kernels(R"(
      extern "C" __global__ void Place(int* out) {
        const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        out[block * 24 + thread] += 1 + block * 24 + thread;
      })");
    const Array<int> out(std::vector<int>(24 * 24, 0));
    void* arguments[] = {const_cast<CUdeviceptr*>(&out.address())};
    EXPECT_CUDA(cuLaunchKernel(kernels["Place"], 2, 3, 4, 4, 3, 2, 0, nullptr, arguments, nullptr));
    std::vector<int> expected(24 * 24);
    std::iota(expected.begin(), expected.end(), 1);
    EXPECT_EQ(out.values(), expected);
  });
}

struct Mixed {
  int32_t a;
  double b;
  char c;
};

TEST(FakeCudaKernels, ArgumentsOfAllSizesArrive) {
  in_process({}, [] {
    const Gpu gpu;
    const Kernels kernels(R"(
      struct Mixed { int a; double b; char c; };
      extern "C" __global__ void Take(double* out, char c, Mixed m, short s, long long l, float4 v, bool flag) {
        out[0] = c; out[1] = m.a + m.b + m.c; out[2] = s; out[3] = l; out[4] = v.x + v.w; out[5] = flag;
      })");
    const Array<double> out(6);
    struct alignas(16) Float4 {
      float x, y, z, w;
    };
    CUfunction take = kernels["Take"];
    EXPECT_CUDA(launch(take, 1, 1, nullptr, out.address(), char{3}, Mixed{1, 0.5, 2}, short{-4},
                       int64_t{1} << 40, Float4{1, 2, 3, 4}, true));
    EXPECT_EQ(out.values(), (std::vector<double>{3, 3.5, -4, std::ldexp(1.0, 40), 5, 1}));
    size_t offset = 0, bytes = 0;
    EXPECT_CUDA(cuFuncGetParamInfo(take, 2, &offset, &bytes));
    EXPECT_EQ(offset, 16U);
    EXPECT_EQ(bytes, sizeof(Mixed));
    EXPECT_EQ(cuFuncGetParamInfo(take, 7, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(FakeCudaKernels, LaunchesHaveTheLimitsOfTheDevice) {
  in_process({}, [] {
    const Gpu gpu;
    const Kernels kernels(
        "#define N 64\nextern \"C\" __global__ __launch_bounds__(N * 2) void Bound() {}\n"
        "extern \"C\" __global__ void Free() {}");
    CUfunction bound = kernels["Bound"], free = kernels["Free"];
    const auto run = [](CUfunction kernel, unsigned gx, unsigned gy, unsigned bx, unsigned bz) {
      return cuLaunchKernel(kernel, gx, gy, 1, bx, 1, bz, 0, nullptr, nullptr, nullptr);
    };
    EXPECT_CUDA(run(bound, 1, 1, 128, 1));
    EXPECT_EQ(run(bound, 1, 1, 129, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_CUDA(run(free, 1, 1, 1024, 1));
    EXPECT_EQ(run(free, 1, 1, 1025, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(run(free, 1, 1, 1024, 2), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(run(free, 0, 1, 1, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(run(free, 1, 65536, 1, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(run(free, 1, 1, 1, 65), CUDA_ERROR_INVALID_VALUE);
    EXPECT_CUDA(cuCtxSynchronize());
    int value = 0;
    EXPECT_CUDA(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bound));
    EXPECT_EQ(value, 128);
    EXPECT_CUDA(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, free, 256, 0));
    EXPECT_EQ(value, 8);
    EXPECT_CUDA(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, free, 32, 100 << 10));
    EXPECT_EQ(value, 2);
  });
}

TEST(FakeCudaKernels, DelayTakesTime) {
  in_process({{"DELAY_US", "20000"}}, [] {
    const Gpu gpu;
    const Kernels kernels("extern \"C\" __global__ void Nothing() {}");
    const Stream stream;
    const Event begin, end;
    EXPECT_CUDA(cuEventRecord(begin, stream));
    EXPECT_CUDA(launch(kernels["Nothing"], 1, 1, stream));
    EXPECT_CUDA(cuEventRecord(end, stream));
    EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuEventQuery(end), CUDA_ERROR_NOT_READY);
    EXPECT_CUDA(cuEventSynchronize(end));
    float milliseconds = 0;
    EXPECT_CUDA(cuEventElapsedTime(&milliseconds, begin, end));
    EXPECT_GE(milliseconds, 20);
    EXPECT_CUDA(cuStreamQuery(stream));
  });
}

}  // namespace
}  // namespace tenon::test
