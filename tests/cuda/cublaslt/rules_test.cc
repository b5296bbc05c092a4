// What cublasLtMatmul refuses, and with which status.
#include "calls.h"

namespace cublaslt_tests {
namespace {

constexpr cublasStatus_t kInvalid = CUBLAS_STATUS_INVALID_VALUE, kUnsupported = CUBLAS_STATUS_NOT_SUPPORTED;

cublasStatus_t status_of(const Call& call) {
  const Handle handle;
  Attempt run(call);
  const cublasStatus_t status = run.run(handle.get());
  const size_t enqueued = local_cuda_take_calls()->size();
  EXPECT_EQ(enqueued, status == CUBLAS_STATUS_SUCCESS ? 1U : 0U);
  return status;
}

/// A change that makes a call wrong.
struct Fault {
  const char* name;
  cublasStatus_t status;
  void (*plant)(Call&);
};

class CublasLtFault : public testing::TestWithParam<Fault> {};

TEST_P(CublasLtFault, IsRefused) {
  Call call = Call::of(CUDA_R_32F, 8, 12, 16, false, false, 2);
  call.beta = 1;
  ASSERT_EQ(status_of(call), CUBLAS_STATUS_SUCCESS);
  GetParam().plant(call);
  EXPECT_EQ(status_of(call), GetParam().status);
}

const Fault kFaults[] = {
    {"LeadingDimensionOfABelowRows", kInvalid, [](Call& c) { c.a.leading = 7; }},
    {"LeadingDimensionOfBBelowRows", kInvalid, [](Call& c) { c.b.leading = 15; }},
    {"LeadingDimensionOfDBelowRows", kInvalid, [](Call& c) { c.d.leading = 7; }},
    {"LeadingDimensionOfRows", kInvalid,
     [](Call& c) {
       c.a.order = CUBLASLT_ORDER_ROW;  // has to be 16 now
       c.a.leading = 8;
     }},
    {"LeadingDimensionOfZeroForD", kInvalid, [](Call& c) { c.d.leading = 0; }},
    {"OtherDepths", kInvalid, [](Call& c) { c.b.rows = c.b.leading = 15; }},
    {"OtherRows", kInvalid, [](Call& c) { c.a.rows = 7; }},
    {"OtherColumns", kInvalid, [](Call& c) { c.b.columns = 11; }},
    {"TransposedWithoutTheShape", kInvalid, [](Call& c) { c.transpose_a = CUBLAS_OP_T; }},
    {"OtherColumnsOfC", kInvalid, [](Call& c) { c.c.columns = 11; }},
    {"OtherOrderOfC", kInvalid, [](Call& c) { c.c.order = CUBLASLT_ORDER_ROW, c.c.leading = 12; }},
    {"NoTranspose", kInvalid, [](Call& c) { c.transpose_b = 7; }},
    {"NoOrder", kInvalid, [](Call& c) { c.a.order = 77; }},
    {"NoBatches", kInvalid, [](Call& c) { c.a.batch = 0; }},
    {"OtherBatches", kInvalid, [](Call& c) { c.a.batch = 3; }},
    {"OneBatchOfMany", kInvalid, [](Call& c) { c.b.batch = 1; }},
    {"ResultsOnEachOther", kInvalid, [](Call& c) { c.d.stride = 0; }},
    {"PointerOfHalfAnElement", kInvalid, [](Call& c) { c.a.misaligned = 2; }},
    {"ResultOfHalfAnElement", kInvalid, [](Call& c) { c.d.misaligned = 2; }},
    {"WorkspaceOfNoAlignment", kInvalid, [](Call& c) { c.workspace_bytes = 4096, c.workspace_offset = 128; }},
    {"InPlaceWithOtherLayout", kInvalid,
     [](Call& c) {
       c.in_place = true;
       c.c.leading = 9;
       c.c.stride = 9 * 12;
     }},
    {"HalfIntoBfloat", kUnsupported,
     [](Call& c) {
       c.a.type = c.b.type = CUDA_R_16F;
       c.c.type = c.d.type = CUDA_R_16BF;
     }},
    {"MixedOperands", kUnsupported, [](Call& c) { c.a.type = CUDA_R_16F; }},
    {"MixedResults", kUnsupported, [](Call& c) { c.c.type = CUDA_R_16F; }},
    {"ComputeOfDouble", kUnsupported, [](Call& c) { c.compute = CUBLAS_COMPUTE_64F; }},
    {"ScaleOfHalf", kUnsupported, [](Call& c) { c.scale = CUDA_R_16F; }},
    {"EpilogueOfTraining", kUnsupported, [](Call& c) { c.epilogue = CUBLASLT_EPILOGUE_DRELU; }},
    {"NoEpilogue", kInvalid, [](Call& c) { c.epilogue = 0; }},
    {"BiasOfRowsInARow", kUnsupported,
     [](Call& c) {
       c.c.order = c.d.order = CUBLASLT_ORDER_ROW;
       c.c.leading = c.d.leading = 12;
       c.epilogue = CUBLASLT_EPILOGUE_BIAS;
     }},
    {"VectorsOfScalars", kUnsupported, [](Call& c) { c.pointer_mode = CUBLASLT_POINTER_MODE_DEVICE_VECTOR; }},
    {"NoPointerMode", kInvalid, [](Call& c) { c.pointer_mode = 9; }},
    {"TiledOrder", kUnsupported, [](Call& c) { c.a.order = CUBLASLT_ORDER_COL32; }},
};
INSTANTIATE_TEST_SUITE_P(All, CublasLtFault, testing::ValuesIn(kFaults),
                         [](const auto& info) { return std::string(info.param.name); });

Call of_bytes() {
  Call call = Call::of(CUDA_R_8I, 8, 12, 16, true, false);
  call.compute = CUBLAS_COMPUTE_32I;
  call.scale = CUDA_R_32I;
  call.c.type = call.d.type = CUDA_R_32I;
  return call;
}

class CublasLtBytesFault : public testing::TestWithParam<Fault> {};

TEST_P(CublasLtBytesFault, IsRefused) {
  Call call = of_bytes();
  ASSERT_EQ(status_of(call), CUBLAS_STATUS_SUCCESS);
  GetParam().plant(call);
  EXPECT_EQ(status_of(call), GetParam().status);
}

const Fault kBytesFaults[] = {
    {"NotTransposed", kUnsupported,
     [](Call& c) {
       c.transpose_a = CUBLAS_OP_N;
       std::swap(c.a.rows, c.a.columns);
       c.a.leading = 8;
     }},
    {"BothTransposed", kUnsupported,
     [](Call& c) {
       c.transpose_b = CUBLAS_OP_T;
       std::swap(c.b.rows, c.b.columns);
       c.b.leading = 12;
     }},
    {"DepthOfNoWords", kUnsupported, [](Call& c) { c.a.rows = c.b.rows = 14; }},
    {"RowsOfNoWords", kUnsupported, [](Call& c) { c.a.columns = c.c.rows = c.d.rows = 6; }},
    {"LeadingOfNoWords", kUnsupported, [](Call& c) { c.a.leading = 18; }},
    {"PointerOfNoWord", kInvalid, [](Call& c) { c.b.misaligned = 2; }},
    {"WithBias", kUnsupported, [](Call& c) { c.epilogue = CUBLASLT_EPILOGUE_BIAS; }},
    {"WithRelu", kUnsupported, [](Call& c) { c.epilogue = CUBLASLT_EPILOGUE_RELU; }},
};
INSTANTIATE_TEST_SUITE_P(All, CublasLtBytesFault, testing::ValuesIn(kBytesFaults),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CublasLtRules, PointersAreNotNull) {
  const Handle handle;
  const Call call = Call::of(CUDA_R_32F, 4, 4, 4);
  Descriptors d(call);
  Buffer memory(1024);
  const float one = 1;
  const auto run = [&](const void* alpha, const void* a, const void* b, const void* beta, const void* c,
                       void* to) {
    return cublasLtMatmul(handle.get(), d.operation, alpha, a, d.a, b, d.b, beta, c, d.c, to, d.d, nullptr,
                          nullptr, 0, nullptr);
  };
  char* const m = static_cast<char*>(memory.get());
  EXPECT_EQ(run(&one, m, m + 64, &one, m + 128, m + 192), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(run(nullptr, m, m + 64, &one, m + 128, m + 192), kInvalid);
  EXPECT_EQ(run(&one, nullptr, m + 64, &one, m + 128, m + 192), kInvalid);
  EXPECT_EQ(run(&one, m, nullptr, &one, m + 128, m + 192), kInvalid);
  EXPECT_EQ(run(&one, m, m + 64, nullptr, m + 128, m + 192), kInvalid);
  EXPECT_EQ(run(&one, m, m + 64, &one, nullptr, m + 192), kInvalid);
  EXPECT_EQ(run(&one, m, m + 64, &one, m + 128, nullptr), kInvalid);
  // Nor does the result lie over an operand.
  EXPECT_EQ(run(&one, m, m + 64, &one, m + 128, m + 16), kInvalid);
  EXPECT_EQ(run(&one, m, m + 64, &one, m + 128, m + 64), kInvalid);
  EXPECT_EQ(run(&one, m, m + 64, &one, m + 128, m + 128), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(run(&one, m, m + 64, &one, m + 128, m + 132), kInvalid);
  // Without a layout, c is laid out as d.
  EXPECT_EQ(cublasLtMatmul(handle.get(), d.operation, &one, m, d.a, m + 64, d.b, &one, m + 128, nullptr,
                           m + 192, d.d, nullptr, nullptr, 0, nullptr),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmul(handle.get(), nullptr, &one, m, d.a, m + 64, d.b, &one, m + 128, d.c, m + 192, d.d,
                           nullptr, nullptr, 0, nullptr),
            kInvalid);
  EXPECT_EQ(cublasLtMatmul(handle.get(), d.operation, &one, m, nullptr, m + 64, d.b, &one, m + 128, d.c,
                           m + 192, d.d, nullptr, nullptr, 0, nullptr),
            kInvalid);
  local_cuda_take_calls();
}

TEST(CublasLtRules, ABiasIsThereAndApart) {
  const Handle handle;
  Call call = Call::of(CUDA_R_32F, 4, 4, 4);
  call.epilogue = CUBLASLT_EPILOGUE_BIAS;
  Descriptors d(call);
  Buffer memory(1024);
  char* const m = static_cast<char*>(memory.get());
  const float one = 1;
  const auto run = [&] {
    return cublasLtMatmul(handle.get(), d.operation, &one, m, d.a, m + 64, d.b, &one, m + 128, d.c, m + 192,
                          d.d, nullptr, nullptr, 0, nullptr);
  };
  EXPECT_EQ(run(), kInvalid);
  d.set_bias(m + 256);
  EXPECT_EQ(run(), CUBLAS_STATUS_SUCCESS);
  d.set_bias(m + 258);
  EXPECT_EQ(run(), kInvalid);
  d.set_bias(m + 252);  // the last element of d
  EXPECT_EQ(run(), kInvalid);
  int32_t type = CUDA_R_16F;
  cublasLtMatmulDescSetAttribute(d.operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof(type));
  d.set_bias(m + 256);
  EXPECT_EQ(run(), kUnsupported);
  local_cuda_take_calls();
}

TEST(CublasLtRules, AHandleBelongsToItsContext) {
  CUcontext current = nullptr;
  cuCtxGetCurrent(&current);
  cublasLtHandle_t handle = nullptr;
  local_cuda_set_context(nullptr);
  EXPECT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_NOT_INITIALIZED);
  local_cuda_set_context(current);
  ASSERT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
  const Call call = Call::of(CUDA_R_32F, 4, 4, 4);
  EXPECT_EQ(Attempt(call).run(handle), CUBLAS_STATUS_SUCCESS);
  char other;
  local_cuda_set_context(reinterpret_cast<CUcontext>(&other));
  EXPECT_EQ(Attempt(call).run(handle), CUBLAS_STATUS_NOT_INITIALIZED);
  local_cuda_set_context(current);
  ASSERT_EQ(cublasLtDestroy(handle), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Attempt(call).run(handle), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasLtDestroy(handle), CUBLAS_STATUS_NOT_INITIALIZED);
  local_cuda_take_calls();
}

TEST(CublasLtRules, WhatTheDriverRefusesFails) {
  const Handle handle;
  local_cuda_fail_next(CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Attempt(Call::of(CUDA_R_32F, 4, 4, 4)).run(handle.get()), CUBLAS_STATUS_EXECUTION_FAILED);
}

TEST(CublasLtRules, BfloatNeedsAmpere) {
  setenv("TENON_FAKE_CUDA_CC", "7.5", 1);
  EXPECT_EQ(status_of(Call::of(CUDA_R_16BF, 8, 8, 8)), kUnsupported);
  EXPECT_EQ(status_of(Call::of(CUDA_R_16F, 8, 8, 8)), CUBLAS_STATUS_SUCCESS);
  setenv("TENON_FAKE_CUDA_CC", "8.0", 1);
  EXPECT_EQ(status_of(Call::of(CUDA_R_16BF, 8, 8, 8)), CUBLAS_STATUS_SUCCESS);
  unsetenv("TENON_FAKE_CUDA_CC");
}

TEST(CublasLtRules, RangesAreExact) {
  const Handle handle;
  Call call = Call::of(CUDA_R_16F, 6, 5, 4, false, false, 3);
  call.a.leading = 10;
  call.a.stride = 100;
  call.epilogue = CUBLASLT_EPILOGUE_BIAS;
  call.bias_stride = 8;
  Attempt run(call);
  local_cuda_take_calls();
  ASSERT_EQ(run.run(handle.get()), CUBLAS_STATUS_SUCCESS);
  const std::vector<local_cuda::Call> calls = *local_cuda_take_calls();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].label, "cublasLtMatmul");
  const auto& ranges = calls[0].ranges;
  ASSERT_EQ(ranges.size(), 4U) << "c is not read where beta is 0";
  EXPECT_EQ(ranges[0].bytes, (2 * 100 + 3 * 10 + 6) * 2U);
  EXPECT_EQ(ranges[1].bytes, 3 * 20 * 2U);
  EXPECT_EQ(ranges[2].bytes, (2 * 8 + 6) * 2U);
  EXPECT_EQ(ranges[3].bytes, 3 * 30 * 2U);
  EXPECT_EQ(ranges[0].address, reinterpret_cast<CUdeviceptr>(run.a().get()));
  EXPECT_EQ(ranges[3].address, reinterpret_cast<CUdeviceptr>(run.result()));
  EXPECT_EQ(ranges[0].writes + ranges[1].writes + ranges[2].writes, 0);
  EXPECT_EQ(ranges[3].writes, 1);
}

}  // namespace
}  // namespace cublaslt_tests
