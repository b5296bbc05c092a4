// What cuDNN refuses, and with which status.
#include <cstring>

#include "graphs.h"

namespace cudnn_tests {
namespace {

/// A convolution with bias and relu in NCHW, whose engine 11 needs no workspace, and another one that does.
class CudnnRules : public Fixture {
 public:
  CudnnRules() {
    c.status = 0;
    const auto tensor = [&](int64_t uid, Memory& m) { return c.tensor(uid, m.type, m.dims, m.strides); };
    const auto between = [&](int64_t uid) {
      return c.tensor(uid, CUDNN_DATA_FLOAT, y.dims, y.strides, true);
    };
    const Descriptor first = between(10), second = between(11);
    graph = c.graph(
        {c.convolve(c.convolution({{1, 1}, {1, 1}, {1, 1}, {1, 1}}), tensor(1, x), tensor(2, w), first),
         c.apply(c.pointwise(CUDNN_POINTWISE_ADD), first, tensor(3, b), second),
         c.apply(c.pointwise(CUDNN_POINTWISE_RELU_FWD), second, nullptr, tensor(4, y))},
        handle);
    EXPECT_NE(graph, nullptr);
    for (const Choice& choice : choices(c, graph)) {
      int64_t bytes = 0;
      const Descriptor made = plan(c, handle, choice.configuration, &bytes);
      (bytes == 0 ? without : with) = made;
      if (bytes != 0) workspace_bytes = bytes;
    }
    EXPECT_NE(without, nullptr);
    EXPECT_NE(with, nullptr);
  }

  cudnnStatus_t run(Descriptor made, const Dims& ids, const std::vector<void*>& pointers,
                    void* workspace = nullptr) {
    const cudnnStatus_t status = cudnnBackendExecute(handle, made, pack(c, ids, pointers, workspace));
    const size_t enqueued = local_cuda_take_calls()->size();
    EXPECT_EQ(enqueued, status == CUDNN_STATUS_SUCCESS ? 1U : 0U);
    return status;
  }
  std::vector<void*> pointers() { return {x.pointer(), w.pointer(), b.pointer(), y.pointer()}; }

  const Dims ids{1, 2, 3, 4};
  Memory x{CUDNN_DATA_FLOAT, {1, 4, 6, 6}, ask::packed({1, 4, 6, 6}), 1},
      w{CUDNN_DATA_FLOAT, {8, 4, 3, 3}, ask::packed({8, 4, 3, 3}), 2},
      b{CUDNN_DATA_FLOAT, {1, 8, 1, 1}, {8, 1, 1, 1}, 3},
      y{CUDNN_DATA_FLOAT, {1, 8, 6, 6}, ask::packed({1, 8, 6, 6}), 4};
  Descriptor graph = nullptr, without = nullptr, with = nullptr;
  int64_t workspace_bytes = 0;
};

TEST_F(CudnnRules, AVariantPackHasEachTensor) {
  EXPECT_EQ(run(without, ids, pointers()), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(run(without, {1, 2, 4}, {x.pointer(), w.pointer(), y.pointer()}), CUDNN_STATUS_BAD_PARAM);
  char text[200];
  cudnnGetLastErrorString(text, sizeof(text));
  EXPECT_NE(std::strstr(text, "tensor 3"), nullptr) << text;
  cudnnGetLastErrorString(text, sizeof(text));
  EXPECT_STREQ(text, "") << "it is given once";
  EXPECT_EQ(run(without, ids, {x.pointer(), nullptr, b.pointer(), y.pointer()}),
            CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  EXPECT_EQ(run(without, {1, 2, 3, 4, 77}, {x.pointer(), w.pointer(), b.pointer(), y.pointer(), x.pointer()}),
            CUDNN_STATUS_SUCCESS);
}

TEST_F(CudnnRules, PointersAreAlignedAsTheTensorsSay) {
  x.misaligned = 4;  // of 16
  EXPECT_EQ(run(without, ids, pointers()), CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  x.misaligned = 16;
  EXPECT_EQ(run(without, ids, pointers()), CUDNN_STATUS_SUCCESS);
}

TEST_F(CudnnRules, AWorkspaceIsThereAndApart) {
  std::vector<char> memory(static_cast<size_t>(workspace_bytes) + 64, 1);
  char* const aligned = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(memory.data()) + 15) / 16 * 16);
  EXPECT_EQ(run(with, ids, pointers()), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  EXPECT_EQ(run(with, ids, pointers(), aligned + 4), CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  EXPECT_EQ(run(with, ids, pointers(), y.pointer()), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(run(with, ids, pointers(), x.pointer()), CUDNN_STATUS_BAD_PARAM);
  ASSERT_EQ(run(with, ids, pointers(), aligned), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(static_cast<unsigned char>(aligned[0]), 0xcd) << "what others keep there is gone";
  EXPECT_EQ(static_cast<unsigned char>(aligned[workspace_bytes - 1]), 0xcd);
  EXPECT_EQ(aligned[workspace_bytes], 1) << "no more than the plan said";
}

TEST_F(CudnnRules, AWorkspaceThatIsTooSmallIsTheDriversError) {
  std::vector<char> memory(static_cast<size_t>(workspace_bytes) + 64);
  char* const aligned = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(memory.data()) + 15) / 16 * 16);
  local_cuda_fail_next(CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(run(with, ids, pointers(), aligned), CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER);
}

TEST_F(CudnnRules, AResultLiesOverNothing) {
  std::vector<void*> p = pointers();
  p[3] = x.pointer();
  EXPECT_EQ(run(without, ids, p), CUDNN_STATUS_BAD_PARAM);
  p = pointers();
  p[3] = static_cast<char*>(w.pointer()) + 64;
  EXPECT_EQ(run(without, ids, p), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnRules, RangesAreExact) {
  ASSERT_EQ(cudnnBackendExecute(handle, without, pack(c, ids, pointers(), nullptr)), CUDNN_STATUS_SUCCESS);
  const std::vector<local_cuda::Call> calls = *local_cuda_take_calls();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].label, "cudnnBackendExecute");
  ASSERT_EQ(calls[0].ranges.size(), 4U);
  for (const tenon_fake_range& range : calls[0].ranges) {
    const bool is_result = range.address == reinterpret_cast<CUdeviceptr>(y.pointer());
    EXPECT_EQ(range.writes, is_result ? 1 : 0);
    if (!is_result) continue;
    EXPECT_EQ(range.bytes, 8 * 6 * 6 * 4U);
  }
}

TEST_F(CudnnRules, PlansAndPacksAreFinalized) {
  const Descriptor pack_made = pack(c, ids, pointers(), nullptr),
                   unfinished = c.make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR),
                   no_plan = c.make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  EXPECT_EQ(cudnnBackendExecute(handle, without, unfinished), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  EXPECT_EQ(cudnnBackendExecute(handle, no_plan, pack_made), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  EXPECT_EQ(cudnnBackendExecute(handle, pack_made, without), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  EXPECT_EQ(cudnnBackendExecute(handle, without, nullptr), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  EXPECT_EQ(cudnnBackendExecute(nullptr, without, pack_made), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(c.finalize(no_plan), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
}

TEST_F(CudnnRules, DescriptorsReferToFinalizedOnesOfTheRightType) {
  const Descriptor operation = c.make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR),
                   unfinished = c.make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const auto set = [&](Descriptor value) {
    return c.set(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                 &value);
  };
  EXPECT_EQ(set(unfinished), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  EXPECT_EQ(set(graph), CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
  EXPECT_EQ(set(nullptr), CUDNN_STATUS_BAD_PARAM);
  c.destroy(unfinished);
  EXPECT_EQ(set(unfinished), CUDNN_STATUS_BAD_PARAM) << "it is gone";
  EXPECT_EQ(c.destroy(unfinished), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnRules, TensorsOfOneIdAreOneTensor) {
  c.status = 0;
  const Dims dims{2, 8};
  const Descriptor from = c.tensor(1, CUDNN_DATA_FLOAT, dims, ask::packed(dims)),
                   to = c.tensor(1, CUDNN_DATA_HALF, dims, ask::packed(dims));
  EXPECT_EQ(c.graph({c.apply(c.pointwise(CUDNN_POINTWISE_RELU_FWD), from, nullptr, to)}), nullptr);
  EXPECT_EQ(c.status, CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);
}

TEST_F(CudnnRules, EnginesThatDoNotDoAGraphAreNotSupported) {
  for (const int64_t index : {-1, 5, 60, 61, 1000}) {
    c.status = 0;
    const Descriptor engine = c.make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    c.put(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
    c.put(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, Dims{index});
    EXPECT_EQ(c.finished(engine), nullptr);
    EXPECT_EQ(c.status, CUDNN_STATUS_NOT_SUPPORTED) << index;
  }
  // A graph that no engine does: relu without a bias, where channels lie apart.
  c.status = 0;
  const auto tensor = [&](int64_t uid, Memory& m) { return c.tensor(uid, m.type, m.dims, m.strides); };
  const Descriptor between = c.tensor(10, CUDNN_DATA_FLOAT, y.dims, y.strides, true);
  const Descriptor other = c.graph(
      {c.convolve(c.convolution({{1, 1}, {1, 1}, {1, 1}, {1, 1}}), tensor(1, x), tensor(2, w), between),
       c.apply(c.pointwise(CUDNN_POINTWISE_RELU_FWD), between, nullptr, tensor(4, y))},
      handle);
  ASSERT_NE(other, nullptr);
  EXPECT_TRUE(choices(c, other).empty());
  EXPECT_TRUE(choices(c, other, CUDNN_HEUR_MODE_FALLBACK).empty());
  for (int64_t index = 0; index < 11; ++index) {
    c.status = 0;
    const Descriptor engine = c.make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    c.put(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, other);
    c.put(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, Dims{index});
    EXPECT_EQ(c.finished(engine), nullptr);
  }
}

TEST_F(CudnnRules, PartsMayBeDestroyedBeforeTheWhole) {
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(c.destroy(i == 0 ? graph : c.make(CUDNN_BACKEND_TENSOR_DESCRIPTOR)), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(run(without, ids, pointers()), CUDNN_STATUS_SUCCESS);
}

TEST_F(CudnnRules, AHandleHasAStreamAndAContext) {
  const auto stream = reinterpret_cast<cudaStream_t>(0x1234);
  cudaStream_t got = nullptr;
  ASSERT_EQ(cudnnSetStream(handle, stream), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cudnnGetStream(handle, &got), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(got, stream);
  ASSERT_EQ(cudnnBackendExecute(handle, without, pack(c, ids, pointers(), nullptr)), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(local_cuda_take_calls()->at(0).stream, stream);
  EXPECT_EQ(cudnnSetStream(nullptr, stream), CUDNN_STATUS_BAD_PARAM);
  CUcontext current = nullptr;
  cuCtxGetCurrent(&current);
  char other;
  local_cuda_set_context(reinterpret_cast<CUcontext>(&other));
  EXPECT_EQ(run(without, ids, pointers()), CUDNN_STATUS_BAD_PARAM);
  local_cuda_set_context(nullptr);
  cudnnHandle_t none = nullptr;
  EXPECT_EQ(cudnnCreate(&none), CUDNN_STATUS_NOT_INITIALIZED);
  local_cuda_set_context(current);
  EXPECT_EQ(cudnnCreate(nullptr), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnRules, NothingIsThereForOtherDescriptors) {
  Descriptor out = nullptr;
  EXPECT_EQ(c.create(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, &out), CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(c.create(static_cast<cudnnBackendDescriptorType_t>(99), &out),
            CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
  EXPECT_EQ(c.create(CUDNN_BACKEND_TENSOR_DESCRIPTOR, nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

}  // namespace
}  // namespace cudnn_tests
