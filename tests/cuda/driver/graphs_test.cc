// Captures, and the graphs that they make.
#include <thread>

#include "tests/cuda/driver/fake_cuda.h"

namespace tenon::test {
namespace {

constexpr const char* kAdd = R"(
  extern "C" __global__ void Add(float* x, float v, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += v;
  }
)";
constexpr int kCount = 100;

CUgraph end_capture(CUstream stream) {
  CUgraph graph = nullptr;
  EXPECT_CUDA(cuStreamEndCapture(stream, &graph));
  return graph;
}

CUgraphExec instantiate(CUgraph graph) {
  CUgraphExec exec = nullptr;
  EXPECT_CUDA(cuGraphInstantiate(&exec, graph, 0));
  EXPECT_CUDA(cuGraphDestroy(graph));
  return exec;
}

TEST(FakeCudaGraphs, EachLaunchHasTheTimeOfOneLaunch) {
  in_process({{"TIMEOUT", "0.25"}}, [] {
    const Gpu gpu;
    const Kernels kernels(
        "extern \"C\" __global__ void Spin(int n) { for (volatile int i = 0; i < n; ++i) {} }");
    const Stream captured;
    EXPECT_CUDA(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    EXPECT_CUDA(launch(kernels["Spin"], 1, 1, captured, 20'000'000));
    CUgraphExec exec = instantiate(end_capture(captured));
    for (int i = 0; i < 80; ++i)
      EXPECT_CUDA(cuGraphLaunch(exec, captured));  // together far more than that time
    EXPECT_CUDA(cuStreamSynchronize(captured));
    for (int i = 0; i < 80; ++i) {
      const Stream stream;  // in the place of the one before
      EXPECT_CUDA(cuGraphLaunch(exec, stream));
      EXPECT_CUDA(cuStreamSynchronize(stream));
    }
    EXPECT_CUDA(cuGraphExecDestroy(exec));
  });
}

TEST(FakeCudaGraphs, ReplayDoesWhatWasCaptured) {
  in_process({{"RACES", "1"}}, [] {
    const Gpu gpu;
    const Kernels kernels(kAdd);
    const Array<float> x(std::vector<float>(kCount, 0.0f)), y(kCount);
    void* host = nullptr;
    EXPECT_CUDA(cuMemHostAlloc(&host, kCount * 4, 0));
    const Stream stream;
    const Event begin, end;
    EXPECT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_CUDA(cuStreamIsCapturing(stream, &status));
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_CUDA(cuEventRecordWithFlags(begin, stream, CU_EVENT_RECORD_EXTERNAL));
    EXPECT_CUDA(launch(kernels["Add"], 1, 32, stream, x.address(), 1.0f, kCount));
    EXPECT_CUDA(cuMemcpyDtoDAsync(y.address(), x.address(), kCount * 4, stream));
    EXPECT_CUDA(cuMemcpyDtoHAsync(host, y.address(), kCount * 4, stream));
    EXPECT_CUDA(cuMemsetD8Async(y.address(), 0, kCount * 4, stream));
    EXPECT_CUDA(cuEventRecordWithFlags(end, stream, CU_EVENT_RECORD_EXTERNAL));
    CUgraph graph = end_capture(stream);
    EXPECT_EQ(x.values()[0], 0.0f) << "a capture does nothing";
    size_t count = 0;
    EXPECT_CUDA(cuGraphGetNodes(graph, nullptr, &count));
    EXPECT_EQ(count, 6U);
    CUgraphNode nodes[6] = {};
    EXPECT_CUDA(cuGraphGetNodes(graph, nodes, &count));
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    EXPECT_CUDA(cuGraphNodeGetType(nodes[1], &type));
    EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
    EXPECT_CUDA(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
    EXPECT_EQ(count, 5U);
    CUgraphExec exec = instantiate(graph);
    EXPECT_CUDA(cuGraphUpload(exec, stream));
    for (int i = 1; i <= 3; ++i) {
      EXPECT_CUDA(cuGraphLaunch(exec, stream));
      EXPECT_CUDA(cuEventSynchronize(end));
      EXPECT_EQ(static_cast<float*>(host)[9], static_cast<float>(i));
      float milliseconds = -1;
      EXPECT_CUDA(cuEventElapsedTime(&milliseconds, begin, end));
      EXPECT_GT(milliseconds, 0);
      EXPECT_LT(milliseconds, 1000);
    }
    EXPECT_CUDA(cuGraphLaunch(exec, stream));
    EXPECT_CUDA(cuGraphExecDestroy(exec));  // after it has run
    EXPECT_CUDA(cuStreamSynchronize(stream));
    EXPECT_EQ(x.values(), std::vector<float>(kCount, 4.0f));
    EXPECT_EQ(y.values()[3], 0.0f);
    EXPECT_CUDA(cuMemFreeHost(host));
  });
}

TEST(FakeCudaGraphs, StreamsJoinACaptureByEvents) {
  in_process({{"RACES", "1"}}, [] {
    const Gpu gpu;
    const Kernels kernels(kAdd);
    const Array<float> x(std::vector<float>(kCount, 0.0f)), y(std::vector<float>(kCount, 0.0f));
    const Stream one, other;
    const Event fork, join;
    EXPECT_CUDA(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_CUDA(launch(kernels["Add"], 1, 32, one, x.address(), 1.0f, kCount));
    EXPECT_CUDA(cuEventRecord(fork, one));
    EXPECT_CUDA(cuStreamWaitEvent(other, fork, 0));
    EXPECT_CUDA(launch(kernels["Add"], 1, 32, one, x.address(), 2.0f, kCount));
    EXPECT_CUDA(launch(kernels["Add"], 1, 32, other, y.address(), 5.0f, kCount));
    EXPECT_CUDA(cuEventRecord(join, other));
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    EXPECT_EQ(cuStreamEndCapture(one, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

    EXPECT_CUDA(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_CUDA(cuEventRecord(fork, one));
    EXPECT_CUDA(cuStreamWaitEvent(other, fork, 0));
    EXPECT_CUDA(launch(kernels["Add"], 1, 32, other, y.address(), 5.0f, kCount));
    EXPECT_EQ(cuStreamEndCapture(one, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);

    EXPECT_CUDA(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_CUDA(launch(kernels["Add"], 1, 32, one, x.address(), 1.0f, kCount));
    EXPECT_CUDA(cuEventRecord(fork, one));
    EXPECT_CUDA(cuStreamWaitEvent(other, fork, 0));
    EXPECT_CUDA(launch(kernels["Add"], 1, 32, one, x.address(), 2.0f, kCount));
    EXPECT_CUDA(launch(kernels["Add"], 1, 32, other, y.address(), 5.0f, kCount));
    EXPECT_CUDA(cuEventRecord(join, other));
    EXPECT_CUDA(cuStreamWaitEvent(one, join, 0));
    EXPECT_CUDA(launch(kernels["Add"], 1, 32, one, y.address(), 1.0f, kCount));
    CUgraphExec exec = instantiate(end_capture(one));
    EXPECT_EQ(cuEventQuery(join), CUDA_ERROR_CAPTURED_EVENT);
    EXPECT_CUDA(cuGraphLaunch(exec, other));
    EXPECT_CUDA(cuStreamSynchronize(other));
    EXPECT_EQ(x.values()[1], 3.0f);
    EXPECT_EQ(y.values()[1], 6.0f);
    EXPECT_CUDA(cuGraphExecDestroy(exec));
  });
}

/// A capture in which `body` calls what CUDA forbids. It is lost.
void expect_forbidden(CUstreamCaptureMode mode, CUresult code,
                      const std::function<CUresult(CUstream)>& body) {
  const Stream stream;
  EXPECT_CUDA(cuStreamBeginCapture(stream, mode));
  EXPECT_EQ(body(stream), code);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph, nullptr);
  EXPECT_CUDA(cuStreamSynchronize(stream));
}

TEST(FakeCudaGraphs, WhatCannotBeCapturedEndsTheCapture) {
  in_process({}, [] {
    const Gpu gpu;
    CUdeviceptr memory = 0, other = 0;
    EXPECT_CUDA(cuMemAlloc(&memory, 4096));
    std::vector<float> pageable(1024);
    const Event event, recorded;
    const Stream blocking(CU_STREAM_DEFAULT), outside;
    EXPECT_CUDA(cuEventRecord(recorded, outside));
    constexpr auto kUnsupported = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
      expect_forbidden(mode, kUnsupported, [&](CUstream) { return cuMemAlloc(&other, 16); });
      expect_forbidden(mode, kUnsupported, [&](CUstream) { return cuMemFree(memory); });
      expect_forbidden(mode, kUnsupported,
                       [&](CUstream) { return cuMemHostAlloc(reinterpret_cast<void**>(&other), 16, 0); });
      expect_forbidden(mode, kUnsupported, [&](CUstream) { return cuCtxSynchronize(); });
      expect_forbidden(mode, kUnsupported, [&](CUstream) { return cuEventQuery(recorded); });
      expect_forbidden(mode, kUnsupported,
                       [&](CUstream) { return cuMemcpyHtoD(memory, pageable.data(), 16); });
      expect_forbidden(mode, kUnsupported, [&](CUstream) { return cuStreamSynchronize(outside); });
    }
    constexpr auto kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
    expect_forbidden(kRelaxed, kUnsupported, [](CUstream stream) { return cuStreamSynchronize(stream); });
    expect_forbidden(kRelaxed, kUnsupported, [](CUstream stream) { return cuStreamQuery(stream); });
    expect_forbidden(kRelaxed, kUnsupported, [](CUstream) { return cuCtxSynchronize(); });
    expect_forbidden(kRelaxed, kUnsupported,
                     [&](CUstream stream) { return cuMemcpyHtoDAsync(memory, pageable.data(), 64, stream); });
    expect_forbidden(kRelaxed, CUDA_ERROR_CAPTURED_EVENT, [&](CUstream stream) {
      EXPECT_CUDA(cuEventRecord(event, stream));
      return cuEventQuery(event);
    });
    expect_forbidden(kRelaxed, CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                     [&](CUstream stream) { return cuStreamWaitEvent(stream, recorded, 0); });
    // The null stream would wait for a blocking stream.
    EXPECT_CUDA(cuStreamBeginCapture(blocking, kRelaxed));
    EXPECT_EQ(cuMemsetD8Async(memory, 0, 16, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(cuStreamBeginCapture(nullptr, kRelaxed), kUnsupported);
    EXPECT_EQ(cuStreamEndCapture(outside, &graph), CUDA_ERROR_ILLEGAL_STATE);
    // Relaxed captures allow what does not touch them.
    EXPECT_CUDA(cuStreamBeginCapture(outside, kRelaxed));
    EXPECT_CUDA(cuMemAlloc(&other, 16));
    EXPECT_CUDA(cuMemFree(other));
    EXPECT_CUDA(cuStreamSynchronize(blocking));
    EXPECT_CUDA(cuGraphDestroy(end_capture(outside)));
    EXPECT_CUDA(cuMemFree(memory));
  });
}

TEST(FakeCudaGraphs, OtherThreadsEndOnlyGlobalCaptures) {
  in_process({}, [] {
    const Gpu gpu;
    const auto from_other_thread = [&] {
      CUresult out = CUDA_SUCCESS;
      std::thread([&] {
        gpu.make_current();
        CUdeviceptr memory = 0;
        out = cuMemAlloc(&memory, 16);
      }).join();
      return out;
    };
    const Stream stream;
    EXPECT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    EXPECT_CUDA(from_other_thread());
    EXPECT_CUDA(cuGraphDestroy(end_capture(stream)));
    expect_forbidden(CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                     [&](CUstream) { return from_other_thread(); });
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    EXPECT_CUDA(cuThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    EXPECT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUdeviceptr memory = 0;
    EXPECT_CUDA(cuMemAlloc(&memory, 16));
    EXPECT_CUDA(cuGraphDestroy(end_capture(stream)));
  });
}

TEST(FakeCudaGraphs, MemoryAndFunctionsInAGraph) {
  in_process({{"RACES", "1"}}, [] {
    const Gpu gpu;
    const Kernels kernels(kAdd);
    static int calls = 0;
    const Array<float> x(std::vector<float>(kCount, 1.0f));
    const Stream stream;
    EXPECT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUdeviceptr inside = 0;
    EXPECT_CUDA(cuMemAllocAsync(&inside, kCount * 4, stream));
    EXPECT_CUDA(cuMemcpyDtoDAsync(inside, x.address(), kCount * 4, stream));
    EXPECT_CUDA(launch(kernels["Add"], 1, 32, stream, inside, 1.0f, kCount));
    EXPECT_CUDA(cuMemcpyDtoDAsync(x.address(), inside, kCount * 4, stream));
    EXPECT_CUDA(cuMemFreeAsync(inside, stream));
    EXPECT_CUDA(cuLaunchHostFunc(
        stream, [](void*) { ++calls; }, nullptr));
    CUgraphExec exec = instantiate(end_capture(stream));
    for (int i = 0; i < 3; ++i) EXPECT_CUDA(cuGraphLaunch(exec, stream));
    EXPECT_CUDA(cuStreamSynchronize(stream));
    EXPECT_EQ(x.values()[0], 4.0f);
    EXPECT_EQ(calls, 3);
    EXPECT_CUDA(cuGraphExecDestroy(exec));
  });
}

}  // namespace
}  // namespace tenon::test
