// TENON_FAKE_CUDA_RACES finds accesses that nothing orders, and no others.
#include <chrono>
#include <thread>

#include "tests/cuda/driver/fake_cuda.h"

namespace tenon::test {
namespace {

constexpr const char* kKernels = R"(
  extern "C" __global__ void Write(float* x, int from, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[from + i] = 1.0f;
  }
  extern "C" __global__ void Read(const float* x, float* sum, int from, int n) {
    float s = 0;
    for (int i = 0; i < n; ++i) s += x[from + i];
    sum[threadIdx.x] = s;
  }
  extern "C" __global__ void Count(int* x) { atomicAdd(x, 1); }
)";

struct Case {
  const Kernels kernels{kKernels};
  const Array<float> x{std::vector<float>(1000, 0.0f)}, y{std::vector<float>(1000, 0.0f)};
  const Stream one, other;
  const Event event{CU_EVENT_DISABLE_TIMING};

  void write(CUstream stream, int from, int n) const {
    EXPECT_CUDA(launch(kernels["Write"], 1, 32, stream, x.address(), from, n));
  }
  void read(CUstream stream, int from, int n) const {
    EXPECT_CUDA(launch(kernels["Read"], 1, 1, stream, x.address(), y.address(), from, n));
  }
  void order(CUstream before, CUstream after) const {
    EXPECT_CUDA(cuEventRecord(event, before));
    EXPECT_CUDA(cuStreamWaitEvent(after, event, 0));
  }
};

/// The message has both pieces of work, in either order.
void expect_race(const std::vector<std::string>& texts, const std::function<void(const Case&)>& body) {
  const Ended ended = run_process({{"RACES", "1"}}, [&] {
    const Gpu gpu;
    const Case setup;
    EXPECT_CUDA(cuCtxSynchronize());
    body(setup);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  });
  EXPECT_EQ(ended.status, 0) << ended.errors;
  for (const std::string& text : texts) EXPECT_NE(ended.errors.find(text), std::string::npos) << ended.errors;
}

void expect_none(const std::function<void(const Case&)>& body) {
  in_process({{"RACES", "1"}}, [&] {
    const Gpu gpu;
    const Case setup;
    EXPECT_CUDA(cuCtxSynchronize());
    body(setup);
    EXPECT_CUDA(cuCtxSynchronize());
  });
}

TEST(FakeCudaRaces, MissingWaitBetweenStreams) {
  expect_race({"race: ", "kernel 'Write' writes", "kernel 'Read' reads"}, [](const Case& it) {
    it.write(it.one, 0, 100);
    it.read(it.other, 50, 100);
  });
  expect_none([](const Case& it) {
    it.write(it.one, 0, 100);
    it.order(it.one, it.other);
    it.read(it.other, 50, 100);
  });
}

TEST(FakeCudaRaces, IsFoundHoweverLateTheOtherComes) {
  // Even if the first one is done long before the second is launched: only an order counts.
  expect_race({"race: ", "kernel 'Write' writes", "kernel 'Read' reads"}, [](const Case& it) {
    it.write(it.one, 0, 100);
    for (int i = 0; i < 500; ++i) it.read(it.other, 500, 10);
    it.read(it.other, 0, 1);
  });
}

TEST(FakeCudaRaces, WhatTheHostHasWaitedForIsOrdered) {
  expect_none([](const Case& it) {
    it.write(it.one, 0, 100);
    EXPECT_CUDA(cuStreamSynchronize(it.one));
    it.read(it.other, 0, 100);
    EXPECT_CUDA(cuEventRecord(it.event, it.other));
    while (cuEventQuery(it.event) == CUDA_ERROR_NOT_READY) {
    }
    it.write(it.one, 0, 100);
  });
}

TEST(FakeCudaRaces, StreamsThatAreDestroyedAreWaitedForToo) {
  expect_none([](const Case& it) {
    for (int i = 0; i < 3; ++i) {
      CUstream gone = nullptr;
      EXPECT_CUDA(cuStreamCreate(&gone, CU_STREAM_NON_BLOCKING));
      it.write(gone, 0, 100);
      EXPECT_CUDA(cuStreamDestroy(gone));
      EXPECT_CUDA(cuCtxSynchronize());
      it.read(it.other, 0, 100);
      EXPECT_CUDA(cuStreamSynchronize(it.other));
    }
  });
}

TEST(FakeCudaRaces, OrderGoesThroughOtherStreams) {
  expect_none([](const Case& it) {
    const Stream between;
    it.write(it.one, 0, 100);
    it.order(it.one, between);
    it.order(between, it.other);
    it.read(it.other, 0, 100);
  });
}

TEST(FakeCudaRaces, OtherPartsOfTheSameTensorAreNoRace) {
  expect_none([](const Case& it) {
    it.write(it.one, 0, 101);
    it.write(it.other, 101, 99);
    it.read(it.one, 300, 100);
    it.order(it.one, it.other);
    it.read(it.other, 300, 100);
  });
}

TEST(FakeCudaRaces, AtomicsAreNoRaceWithEachOther) {
  expect_none([](const Case& it) {
    EXPECT_CUDA(launch(it.kernels["Count"], 2, 2, it.one, it.x.address()));
    EXPECT_CUDA(launch(it.kernels["Count"], 2, 2, it.other, it.x.address()));
  });
  expect_race({"race: ", "kernel 'Count' changes", "kernel 'Read' reads"}, [](const Case& it) {
    EXPECT_CUDA(launch(it.kernels["Count"], 2, 2, it.one, it.x.address()));
    it.read(it.other, 0, 1);
  });
}

TEST(FakeCudaRaces, CopiesAndFills) {
  expect_race({"race: ", "a fill writes", "a copy reads"}, [](const Case& it) {
    EXPECT_CUDA(cuMemsetD8Async(it.x.address(), 0, 100, it.one));
    EXPECT_CUDA(cuMemcpyDtoDAsync(it.y.address(), it.x.address() + 99, 100, it.other));
  });
  expect_none([](const Case& it) {
    EXPECT_CUDA(cuMemsetD8Async(it.x.address(), 0, 100, it.one));
    EXPECT_CUDA(cuMemcpyDtoDAsync(it.y.address(), it.x.address() + 100, 100, it.other));
  });
  expect_race({"race: ", "kernel 'Write' writes", "a copy by the host reads"}, [](const Case& it) {
    it.write(it.one, 0, 10);
    float value = 0;
    cuMemcpyDtoH(&value, it.x.address(), 4);
  });
}

TEST(FakeCudaRaces, MemoryOfAPoolIsMadeAndGivenBackInOrder) {
  expect_none([](const Case& it) {
    CUdeviceptr memory = 0;
    EXPECT_CUDA(cuMemAllocAsync(&memory, 64, it.one));
    it.order(it.one, it.other);
    EXPECT_CUDA(cuMemsetD8Async(memory, 0, 64, it.other));
    it.order(it.other, it.one);
    EXPECT_CUDA(cuMemFreeAsync(memory, it.one));
  });
  expect_race({"race: ", "the allocation (cuMemAllocAsync) writes", "a fill writes"}, [](const Case& it) {
    CUdeviceptr memory = 0;
    EXPECT_CUDA(cuMemAllocAsync(&memory, 64, it.one));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it is there, but nothing says so
    EXPECT_CUDA(cuMemsetD8Async(memory, 0, 64, it.other));
  });
  expect_race({"race: ", "a fill writes", "the release (cuMemFreeAsync) writes"}, [](const Case& it) {
    CUdeviceptr memory = 0;
    EXPECT_CUDA(cuMemAllocAsync(&memory, 64, it.one));
    it.order(it.one, it.other);
    EXPECT_CUDA(cuMemsetD8Async(memory, 0, 64, it.other));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_CUDA(cuMemFreeAsync(memory, it.one));
  });
}

TEST(FakeCudaRaces, GraphsAndTheirNodes) {
  const auto forked = [](const Case& it, bool same) {
    const Event fork, join;
    EXPECT_CUDA(cuStreamBeginCapture(it.one, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_CUDA(cuEventRecord(fork, it.one));
    EXPECT_CUDA(cuStreamWaitEvent(it.other, fork, 0));
    it.write(it.one, 0, 100);
    it.write(it.other, same ? 99 : 100, 100);
    EXPECT_CUDA(cuEventRecord(join, it.other));
    EXPECT_CUDA(cuStreamWaitEvent(it.one, join, 0));
    it.read(it.one, 0, 200);
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    EXPECT_CUDA(cuStreamEndCapture(it.one, &graph));
    EXPECT_CUDA(cuGraphInstantiate(&exec, graph, 0));
    EXPECT_CUDA(cuGraphLaunch(exec, it.one));
    return exec;
  };
  expect_none([&](const Case& it) {
    CUgraphExec exec = forked(it, false);
    EXPECT_CUDA(cuGraphLaunch(exec, it.one));
    it.order(it.one, it.other);
    it.write(it.other, 0, 100);
  });
  expect_race({"race: ", "nothing orders these nodes of the graph"},
              [&](const Case& it) { forked(it, true); });
  expect_race({"race: ", "kernel 'Write' writes", "no event orders their streams"}, [&](const Case& it) {
    forked(it, false);
    EXPECT_CUDA(launch(it.kernels["Write"], 1, 32, it.other, it.x.address(), 150, 1));
  });
}

TEST(FakeCudaRaces, KernelsCompiledWithoutAreRefused) {
  const std::string compiled = compile_kernels(kKernels, {"-arch=sm_90"}).cubin;
  in_process({{"RACES", "1"}}, [&] {
    const Gpu gpu;
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, compiled.data()), CUDA_ERROR_INVALID_IMAGE);
  });
}

}  // namespace
}  // namespace tenon::test
