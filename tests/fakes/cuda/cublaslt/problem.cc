#include "problem.h"

#include <algorithm>
#include <tuple>

#include "tests/fakes/cuda/library/device_work.h"

namespace fake_cublaslt {
namespace {

using fake_cuda::Rounding;

constexpr int kAmpere = 80;

/// A row of the table of data types in the documentation of cublasLtMatmul.
struct Types {
  int compute, scale, a, b, c, bias;
};
constexpr Types kTypes[] = {
    {CUBLAS_COMPUTE_32I, CUDA_R_32I, CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, -1},
    {CUBLAS_COMPUTE_32I, CUDA_R_32F, CUDA_R_8I, CUDA_R_8I, CUDA_R_8I, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8I, CUDA_R_8I, CUDA_R_32F, -1},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_FAST_16F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_FAST_16BF, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
};

int without_pedantry(int compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      return CUBLAS_COMPUTE_32F;
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return CUBLAS_COMPUTE_64F;
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return CUBLAS_COMPUTE_32I;
    default:
      return compute;
  }
}

const Types* types_of(int compute, int scale, int a, int b, int c, int d) {
  for (const Types& t : kTypes) {
    if (t.compute == without_pedantry(compute) && t.scale == scale && t.a == a && t.b == b && t.c == c &&
        c == d)
      return &t;
  }
  return nullptr;
}

/// What tensor cores make of operands in float. Before Ampere there are those for halves alone.
Rounding rounding_of(int compute) {
  const bool is_new = fake_cuda::compute_capability() >= kAmpere;
  switch (compute) {
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return is_new ? Rounding::kTf32 : Rounding::kNone;
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      return is_new ? Rounding::kBfloat : Rounding::kNone;
    case CUBLAS_COMPUTE_32F_FAST_16F:
      return Rounding::kHalf;
    default:
      return Rounding::kNone;
  }
}

bool is_operation(int transpose) {
  return transpose == CUBLAS_OP_N || transpose == CUBLAS_OP_T || transpose == CUBLAS_OP_C;
}

/// `may_repeat`: a leading dimension of 0 repeats one row or column.
cublasStatus_t check_layout(const Layout& l, bool may_repeat) {
  if (l.order < CUBLASLT_ORDER_COL || l.order > CUBLASLT_ORDER_COL32_2R_4R4 || l.rows == 0 ||
      l.columns == 0 || l.batch < 1 || l.batch_stride < 0 || l.batch_mode > CUBLASLT_BATCH_MODE_POINTER_ARRAY)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (l.order > CUBLASLT_ORDER_ROW || l.batch_mode != CUBLASLT_BATCH_MODE_STRIDED || l.plane_offset != 0 ||
      l.rows > INT32_MAX || l.columns > INT32_MAX)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto least = static_cast<int64_t>(l.order == CUBLASLT_ORDER_COL ? l.rows : l.columns);
  return l.leading >= least || (may_repeat && l.leading == 0) ? CUBLAS_STATUS_SUCCESS
                                                              : CUBLAS_STATUS_INVALID_VALUE;
}

Matrix matrix_of(const Layout& l, bool transposed) {
  Matrix out{fake_cuda::type_of(static_cast<cudaDataType_t>(l.type)), -1, 1, l.leading, l.batch_stride};
  if ((l.order == CUBLASLT_ORDER_ROW) != transposed) std::swap(out.row_step, out.column_step);
  return out;
}

bool is_whole(uint64_t count) { return count % 4 == 0; }

/// Tensor cores take bytes by words, along the depth of both operands.
cublasStatus_t check_bytes(const Operation& o, const Problem& p) {
  const bool is_laid_out = o.transpose_a != CUBLAS_OP_N && o.transpose_b == CUBLAS_OP_N;
  for (const Layout* l : {p.a, p.b, p.c, p.d}) {
    if (l->order != CUBLASLT_ORDER_COL || !is_whole(static_cast<uint64_t>(l->leading)))
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const bool steps = is_whole(static_cast<uint64_t>(p.a->batch_stride)) &&
                     is_whole(static_cast<uint64_t>(p.b->batch_stride));
  return is_laid_out && steps && is_whole(p.a->rows) && is_whole(p.d->rows) ? CUBLAS_STATUS_SUCCESS
                                                                            : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t check_epilogue(const Operation& o, const Types& types, Problem* out) {
  const bool has_bias = (o.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  switch (o.epilogue & ~static_cast<uint32_t>(CUBLASLT_EPILOGUE_BIAS)) {
    case 0:
    case CUBLASLT_EPILOGUE_DEFAULT:
      if (o.epilogue != CUBLASLT_EPILOGUE_DEFAULT && o.epilogue != CUBLASLT_EPILOGUE_BIAS)
        return CUBLAS_STATUS_INVALID_VALUE;
      break;
    case CUBLASLT_EPILOGUE_RELU:
      out->work.activation = Activation::kRelu;
      break;
    case CUBLASLT_EPILOGUE_GELU:
      out->work.activation = Activation::kGelu;
      break;
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;  // those of training
  }
  if (o.epilogue == CUBLASLT_EPILOGUE_DEFAULT) return CUBLAS_STATUS_SUCCESS;
  if (types.bias < 0 || out->is_integer) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!has_bias) return CUBLAS_STATUS_SUCCESS;
  if (o.bias_type != -1 && o.bias_type != types.bias) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (out->d->order != CUBLASLT_ORDER_COL) return CUBLAS_STATUS_NOT_SUPPORTED;  // the bias is one of rows
  if (o.bias_stride < 0) return CUBLAS_STATUS_INVALID_VALUE;
  out->work.bias = {fake_cuda::type_of(static_cast<cudaDataType_t>(types.bias)), -1, 1, 0, o.bias_stride};
  return CUBLAS_STATUS_SUCCESS;
}

/// What the library has but no stand-in for it.
bool asks_for_more(const Operation& o) {
  for (const int mode : o.scale_modes) {
    if (mode != 0) return true;
  }
  return o.a_scale != nullptr || o.b_scale != nullptr || o.c_scale != nullptr || o.d_scale != nullptr ||
         o.d_amax != nullptr || o.aux_scale != nullptr || o.aux_amax != nullptr || o.d_out_scale != nullptr ||
         o.emulation != nullptr || o.fill != CUBLAS_FILL_MODE_FULL ||
         o.pointer_mode > CUBLASLT_POINTER_MODE_DEVICE;
}

cublasStatus_t check_shapes(const Operation& o, Problem* out) {
  const bool ta = o.transpose_a != CUBLAS_OP_N, tb = o.transpose_b != CUBLAS_OP_N;
  const auto [a, b, c, d] = std::tuple(out->a, out->b, out->c, out->d);
  MatmulWork& w = out->work;
  w.rows = static_cast<int64_t>(d->rows);
  w.columns = static_cast<int64_t>(d->columns);
  w.depth = static_cast<int64_t>(ta ? a->rows : a->columns);
  w.batch = d->batch;
  if ((ta ? a->columns : a->rows) != d->rows || (tb ? b->rows : b->columns) != d->columns ||
      (tb ? b->columns : b->rows) != static_cast<uint64_t>(w.depth) || c->rows != d->rows ||
      c->columns != d->columns || c->order != d->order)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (a->batch != d->batch || b->batch != d->batch || c->batch != d->batch)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (d->batch > 1 && d->batch_stride == 0) return CUBLAS_STATUS_INVALID_VALUE;
  w.a = matrix_of(*a, ta);
  w.b = matrix_of(*b, tb);
  w.c = matrix_of(*c, false);
  w.d = matrix_of(*d, false);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

bool are_types_supported(int compute, int scale, int a, int b, int c, int d) {
  return types_of(compute, scale, a, b, c, d) != nullptr;
}

int64_t extent_of(const Matrix& m, int64_t rows, int64_t columns, int64_t batch) {
  return (m.at(batch - 1, rows - 1, columns - 1) + 1) * fake_cuda::bytes_of(m.type);
}

cublasStatus_t problem_of(cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                          cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, Problem* out) {
  *out = {};
  out->operation = operation_of(operation);
  out->a = layout_of(a);
  out->b = layout_of(b);
  out->d = layout_of(d);
  out->c = c == nullptr ? out->d : layout_of(c);
  if (out->operation == nullptr || out->a == nullptr || out->b == nullptr || out->c == nullptr ||
      out->d == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  const Operation& o = *out->operation;
  if (!is_operation(o.transpose_a) || !is_operation(o.transpose_b) || !is_operation(o.transpose_c) ||
      o.pointer_mode < CUBLASLT_POINTER_MODE_HOST ||
      o.pointer_mode > CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST)
    return CUBLAS_STATUS_INVALID_VALUE;
  for (const Layout* l : {out->a, out->b, out->c, out->d}) {
    if (const cublasStatus_t status = check_layout(*l, l == out->c && l != out->d);
        status != CUBLAS_STATUS_SUCCESS)
      return status;
  }
  if (const cublasStatus_t status = check_shapes(o, out); status != CUBLAS_STATUS_SUCCESS) return status;
  const Types* const types =
      types_of(o.compute, o.scale, out->a->type, out->b->type, out->c->type, out->d->type);
  if (types == nullptr || asks_for_more(o) || o.transpose_c != CUBLAS_OP_N)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (out->a->type == CUDA_R_16BF && fake_cuda::compute_capability() < kAmpere)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  MatmulWork& w = out->work;
  w.rounding = rounding_of(o.compute);
  w.scale = fake_cuda::type_of(static_cast<cudaDataType_t>(o.scale));
  out->is_integer = out->a->type == CUDA_R_8I;
  w.wraps = out->d->type == CUDA_R_32I;
  if (const cublasStatus_t status = check_epilogue(o, *types, out); status != CUBLAS_STATUS_SUCCESS)
    return status;
  return out->is_integer ? check_bytes(o, *out) : CUBLAS_STATUS_SUCCESS;
}

}  // namespace fake_cublaslt
