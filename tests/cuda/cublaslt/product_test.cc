// Products, beside ones that are computed plainly.
#include "calls.h"

namespace cublaslt_tests {
namespace {

double tolerance_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_16F:
      return 1e-3;
    case CUDA_R_16BF:
      return 8e-3;
    case CUDA_R_64F:
      return 1e-14;
    case CUDA_R_32F:
      return 2e-7;
    default:
      return 0;
  }
}

void expect_product(const Call& call, fake_cuda::Rounding rounding = fake_cuda::Rounding::kNone) {
  const Handle handle;
  Attempt run(call);
  std::vector<double> expected;
  const auto each = [&](const auto& visit) {
    for (int64_t n = 0; n < call.d.batch; ++n) {
      for (int64_t i = 0; i < static_cast<int64_t>(call.d.rows); ++i) {
        for (int64_t j = 0; j < static_cast<int64_t>(call.d.columns); ++j) visit(n, i, j);
      }
    }
  };
  each([&](int64_t n, int64_t i, int64_t j) { expected.push_back(run.expected(n, i, j, rounding)); });
  ASSERT_EQ(run.run(handle.get()), CUBLAS_STATUS_SUCCESS);
  for (const local_cuda::Call& made : *local_cuda_take_calls()) EXPECT_EQ(made.error, "");
  size_t at = 0;
  each([&](int64_t n, int64_t i, int64_t j) {
    const double wanted = expected[at++];
    EXPECT_NEAR(run.actual(n, i, j), wanted, tolerance_of(call.d.type) * std::max(1.0, std::abs(wanted)))
        << n << " " << i << " " << j;
  });
}

TEST(CublasLtProduct, OfEachTypeInEachForm) {
  for (const cudaDataType_t type : {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF, CUDA_R_64F}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        for (const auto& [m, n, k] :
             {std::array<int64_t, 3>{1, 1, 1}, {3, 5, 7}, {17, 9, 33}, {64, 300, 40}, {5, 1, 300}}) {
          Call call = Call::of(type, m, n, k, ta, tb);
          if (type == CUDA_R_64F) {
            call.compute = CUBLAS_COMPUTE_64F;
            call.scale = CUDA_R_64F;
          }
          call.alpha = 0.5;
          call.beta = -2;
          expect_product(call);
        }
      }
    }
  }
}

TEST(CublasLtProduct, OfHalvesIntoFloat) {
  for (const cudaDataType_t type : {CUDA_R_16F, CUDA_R_16BF}) {
    Call call = Call::of(type, 12, 10, 31);
    call.c.type = call.d.type = CUDA_R_32F;
    call.epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
    expect_product(call);
  }
}

TEST(CublasLtProduct, OfBatchesThatOverlapAndRepeat) {
  Call call = Call::of(CUDA_R_32F, 6, 7, 8, false, false, 5);
  call.a.stride = 0;    // one for all
  call.b.leading = 40;  // columns of several batches side by side
  call.b.stride = 8;
  call.d.leading = 6 * 5;
  call.d.stride = 6;
  call.c = call.d;
  call.beta = 1;
  expect_product(call);
  call.in_place = true;
  expect_product(call);
}

TEST(CublasLtProduct, WithRowsInARow) {
  for (const int32_t order_a : {CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW}) {
    for (const int32_t order_b : {CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW}) {
      for (const int32_t order_d : {CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW}) {
        Call call = Call::of(CUDA_R_32F, 5, 6, 7);
        const auto turn = [](Matrix& m, int32_t order) {
          m.order = order;
          if (order == CUBLASLT_ORDER_ROW) m.leading = static_cast<int64_t>(m.columns) + 2;
        };
        turn(call.a, order_a);
        turn(call.b, order_b);
        turn(call.c, order_d);
        turn(call.d, order_d);
        call.beta = 1;
        call.epilogue = CUBLASLT_EPILOGUE_RELU;
        expect_product(call);
      }
    }
  }
}

TEST(CublasLtProduct, WithEachEpilogue) {
  for (const uint32_t epilogue : {CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS,
                                  CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS}) {
    for (const cudaDataType_t type : {CUDA_R_32F, CUDA_R_16F}) {
      for (const int64_t bias_stride : {0, 9}) {
        Call call = Call::of(type, 9, 6, 7, true, false, 3);
        call.epilogue = epilogue;
        call.bias_stride = bias_stride;
        call.beta = 0.25;
        expect_product(call);
      }
    }
  }
}

TEST(CublasLtProduct, AddsAVectorByALeadingDimensionOfZero) {
  Call call = Call::of(CUDA_R_32F, 9, 6, 7);
  call.c.leading = 0;
  call.beta = 1;
  expect_product(call);
}

TEST(CublasLtProduct, ReadsScalarsOfTheDevice) {
  Call call = Call::of(CUDA_R_16F, 9, 6, 7);
  call.pointer_mode = CUBLASLT_POINTER_MODE_DEVICE;
  call.alpha = 2;
  call.beta = 0.5;
  expect_product(call);
}

TEST(CublasLtProduct, RoundsWhatTensorCoresTake) {
  for (const auto& [compute, rounding] : {std::pair{CUBLAS_COMPUTE_32F_FAST_TF32, fake_cuda::Rounding::kTf32},
                                          {CUBLAS_COMPUTE_32F_FAST_16F, fake_cuda::Rounding::kHalf},
                                          {CUBLAS_COMPUTE_32F_FAST_16BF, fake_cuda::Rounding::kBfloat}}) {
    Call call = Call::of(CUDA_R_32F, 16, 16, 64);
    call.compute = compute;
    expect_product(call, rounding);
    // And that is something else.
    Attempt run(call);
    const double exact = run.expected(0, 3, 4);
    EXPECT_NE(static_cast<float>(run.expected(0, 3, 4, rounding)), static_cast<float>(exact));
  }
}

TEST(CublasLtProduct, OfBytesWrapsAround) {
  for (const int64_t k : {4, 64, 300}) {
    Call call = Call::of(CUDA_R_8I, 8, 5, k, true, false);
    call.compute = CUBLAS_COMPUTE_32I;
    call.scale = CUDA_R_32I;
    call.c.type = call.d.type = CUDA_R_32I;
    expect_product(call);
    call.beta = 1;
    expect_product(call);
  }
}

TEST(CublasLtProduct, OfBytesIntoBytesSaturates) {
  Call call = Call::of(CUDA_R_8I, 8, 8, 16, true, false);
  call.compute = CUBLAS_COMPUTE_32I;
  call.alpha = 100;
  const Handle handle;
  Attempt run(call);
  ASSERT_EQ(run.run(handle.get()), CUBLAS_STATUS_SUCCESS);

  int saturated = 0;
  for (int64_t i = 0; i < 8; ++i) {
    const double wanted = run.expected(0, i, 3), got = run.actual(0, i, 3);
    EXPECT_EQ(got, std::max(-128.0, std::min(127.0, wanted)));
    saturated += std::abs(wanted) > 128;
  }
  EXPECT_GT(saturated, 3);
}

TEST(CublasLtProduct, KeepsNan) {
  Call call = Call::of(CUDA_R_32F, 2, 2, 2);
  call.epilogue = CUBLASLT_EPILOGUE_RELU;
  const Handle handle;
  Attempt run(call);
  store(run.a().get(), Type::kFloat, 0, std::nan(""));
  ASSERT_EQ(run.run(handle.get()), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(std::isnan(run.actual(0, 0, 0)));
  EXPECT_FALSE(std::isnan(run.actual(0, 1, 0)));
}

}  // namespace
}  // namespace cublaslt_tests
