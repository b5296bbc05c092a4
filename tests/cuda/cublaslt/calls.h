// Calls of cublasLtMatmul with what they need, and the product computed plainly.
#pragma once

#include <cublasLt.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/cuda/local/local_cuda.h"
#include "tests/fakes/cuda/library/numbers.h"

namespace cublaslt_tests {

using fake_cuda::bytes_of;
using fake_cuda::load;
using fake_cuda::store;
using fake_cuda::Type;

/// Memory that is aligned to 256 bytes, and an offset into it.
class Buffer {
 public:
  explicit Buffer(size_t bytes, size_t offset = 0) : memory_(bytes + offset + 512), offset_(offset) {}
  void* get() {
    const auto begin = reinterpret_cast<uintptr_t>(memory_.data());
    return reinterpret_cast<void*>((begin + 255) / 256 * 256 + offset_);
  }

 private:
  std::vector<char> memory_;
  size_t offset_;
};

class Handle {
 public:
  Handle() { EXPECT_EQ(cublasLtCreate(&handle_), CUBLAS_STATUS_SUCCESS); }
  ~Handle() { cublasLtDestroy(handle_); }
  cublasLtHandle_t get() const { return handle_; }

 private:
  cublasLtHandle_t handle_ = nullptr;
};

struct Matrix {
  cudaDataType_t type = CUDA_R_32F;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int32_t order = CUBLASLT_ORDER_COL, batch = 1;
  int64_t stride = 0;
  size_t misaligned = 0;  // bytes

  /// An element's place.
  int64_t at(int64_t b, int64_t row, int64_t column) const {
    return b * stride + (order == CUBLASLT_ORDER_COL ? column * leading + row : row * leading + column);
  }
  int64_t elements() const {
    return at(batch - 1, static_cast<int64_t>(rows) - 1, static_cast<int64_t>(columns) - 1) + 1;
  }
  Type element() const { return fake_cuda::type_of(type); }
  size_t bytes() const { return static_cast<size_t>(elements() * bytes_of(element())); }
};

/// d = epilogue(alpha * op(a) * op(b) + beta * c + bias); everything can be changed before it runs.
struct Call {
  Matrix a, b, c, d;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int64_t bias_stride = 0;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  double alpha = 1, beta = 0;
  bool in_place = false;
  size_t workspace_bytes = 0, workspace_offset = 0;
  const cublasLtMatmulAlgo_t* algorithm = nullptr;

  /// Shapes of packed column-major matrices of one type.
  static Call of(cudaDataType_t type, int64_t m, int64_t n, int64_t k, bool ta = false, bool tb = false,
                 int32_t batch = 1) {
    Call out;
    const auto matrix = [&](int64_t rows, int64_t columns) {
      return Matrix{
          type,  static_cast<uint64_t>(rows),   static_cast<uint64_t>(columns), rows, CUBLASLT_ORDER_COL,
          batch, batch > 1 ? rows * columns : 0};
    };
    out.a = ta ? matrix(k, m) : matrix(m, k);
    out.b = tb ? matrix(n, k) : matrix(k, n);
    out.c = out.d = matrix(m, n);
    out.transpose_a = ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    out.transpose_b = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    return out;
  }
};

/// The descriptors of a call.
class Descriptors {
 public:
  explicit Descriptors(const Call& call) {
    cublasLtMatmulDescCreate(&operation, call.compute, call.scale);
    const auto set = [&](cublasLtMatmulDescAttributes_t name, const auto& value) {
      EXPECT_EQ(cublasLtMatmulDescSetAttribute(operation, name, &value, sizeof(value)),
                CUBLAS_STATUS_SUCCESS);
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, call.transpose_a);
    set(CUBLASLT_MATMUL_DESC_TRANSB, call.transpose_b);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, call.epilogue);
    set(CUBLASLT_MATMUL_DESC_POINTER_MODE, call.pointer_mode);
    set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, call.bias_stride);
    a = layout(call.a);
    b = layout(call.b);
    c = layout(call.c);
    d = layout(call.d);
  }
  ~Descriptors() {
    cublasLtMatmulDescDestroy(operation);
    for (const cublasLtMatrixLayout_t made : {a, b, c, d}) cublasLtMatrixLayoutDestroy(made);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  void set_bias(const void* pointer) {
    cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &pointer, sizeof(pointer));
  }

  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr, d = nullptr;

 private:
  static cublasLtMatrixLayout_t layout(const Matrix& m) {
    cublasLtMatrixLayout_t out = nullptr;
    cublasLtMatrixLayoutCreate(&out, m.type, m.rows, m.columns, m.leading);
    const auto set = [&](cublasLtMatrixLayoutAttribute_t name, const auto& value) {
      EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(out, name, &value, sizeof(value)), CUBLAS_STATUS_SUCCESS);
    };
    set(CUBLASLT_MATRIX_LAYOUT_ORDER, m.order);
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, m.batch);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, m.stride);
    return out;
  }
};

/// A call with its memory, filled with small numbers.
class Attempt {
 public:
  explicit Attempt(const Call& call)
      : call_(call),
        a_(call.a.bytes(), call.a.misaligned),
        b_(call.b.bytes(), call.b.misaligned),
        c_(call.c.bytes(), call.c.misaligned),
        d_(call.d.bytes(), call.d.misaligned),
        bias_(bias_bytes()),
        workspace_(call.workspace_bytes, call.workspace_offset),
        scalars_(32) {
    fill(call.a, a_, 3, call.a.elements());
    fill(call.b, b_, 5, call.b.elements());
    fill(call.c, c_, 7, call.c.elements());
    fill(call.d, call.in_place ? c_ : d_, call.in_place ? 7 : 1, call.d.elements());
    fill(bias_matrix(), bias_, 11, static_cast<int64_t>(bias_bytes()) / bytes_of(bias_matrix().element()));
    store(scalars_.get(), scale(), 0, call.alpha);
    store(static_cast<char*>(scalars_.get()) + 16, scale(), 0, call.beta);
  }

  cublasStatus_t run(cublasLtHandle_t handle) {
    Descriptors d(call_);
    if ((call_.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) d.set_bias(bias_.get());
    void* const workspace =
        call_.workspace_bytes == 0 && call_.workspace_offset == 0 ? nullptr : workspace_.get();
    return cublasLtMatmul(handle, d.operation, alpha(), a_.get(), d.a, b_.get(), d.b, beta(), c_.get(), d.c,
                          result(), d.d, call_.algorithm, workspace, call_.workspace_bytes, nullptr);
  }

  /// The result at (row, column) of a batch, computed plainly before the call is run.
  double expected(int64_t n, int64_t row, int64_t column,
                  fake_cuda::Rounding rounding = fake_cuda::Rounding::kNone) {
    const bool ta = call_.transpose_a != CUBLAS_OP_N, tb = call_.transpose_b != CUBLAS_OP_N;
    const auto depth = static_cast<int64_t>(ta ? call_.a.rows : call_.a.columns);
    const auto value = [&](const Matrix& m, Buffer& from, int64_t i, int64_t j) {
      const double read = load(from.get(), m.element(), m.at(n, i, j));
      return rounding == fake_cuda::Rounding::kNone ? read
                                                    : fake_cuda::rounded(static_cast<float>(read), rounding);
    };
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += value(call_.a, a_, ta ? k : row, ta ? row : k) *
             value(call_.b, b_, tb ? column : k, tb ? k : column);
    sum *= call_.alpha;
    if (call_.beta != 0) sum += call_.beta * load(c_.get(), call_.c.element(), call_.c.at(n, row, column));
    if ((call_.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0)
      sum += load(bias_.get(), bias_matrix().element(), n * call_.bias_stride + row);
    if ((call_.epilogue & CUBLASLT_EPILOGUE_RELU) != 0) sum = sum < 0 ? 0 : sum;
    if ((call_.epilogue & CUBLASLT_EPILOGUE_GELU) != 0) sum = fake_cuda::gelu_tanh(sum);
    return sum;
  }
  double actual(int64_t n, int64_t row, int64_t column) {
    return load(result(), call_.d.element(), call_.d.at(n, row, column));
  }

  void* result() { return call_.in_place ? c_.get() : d_.get(); }
  void* workspace() { return workspace_.get(); }
  Buffer& a() { return a_; }

 private:
  Matrix bias_matrix() const {
    Matrix out;
    out.type = call_.d.type == CUDA_R_8I ? CUDA_R_32F : call_.d.type;
    return out;
  }
  size_t bias_bytes() const {
    return static_cast<size_t>(
        (call_.bias_stride * (call_.d.batch - 1) + static_cast<int64_t>(call_.d.rows)) *
        bytes_of(bias_matrix().element()));
  }
  Type scale() const { return fake_cuda::type_of(call_.scale); }
  const void* alpha() { return scalars_.get(); }
  const void* beta() { return static_cast<char*>(scalars_.get()) + 16; }

  void fill(const Matrix& m, Buffer& to, int64_t seed, int64_t count) const {
    const bool is_whole = m.type == CUDA_R_8I || m.type == CUDA_R_32I;
    for (int64_t i = 0; i < count; ++i) {
      const auto number = static_cast<double>((i * 37 + seed * 101) % 23 - 11);
      store(to.get(), m.element(), i,
            is_whole ? number : number * 0.125 + static_cast<double>(seed) * 0.0013);
    }
  }

  const Call call_;
  Buffer a_, b_, c_, d_, bias_, workspace_, scalars_;
};

}  // namespace cublaslt_tests
