#include "work.h"

#include <algorithm>
#include <cstring>

#include "tests/fakes/cuda/library/product.h"

using namespace fake_cublaslt;
using fake_cuda::load;
using fake_cuda::rounded;
using fake_cuda::Type;

namespace {

void copy_part(double* to, int64_t stride, const MatmulWork& w, const Matrix& m, const void* memory,
               int64_t base, int64_t step, int64_t count, int64_t depth_step, int64_t depth) {
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t i = 0; i < count; ++i) {
      const double value = load(memory, m.type, base + i * step + k * depth_step);
      to[k * stride + i] =
          w.rounding == fake_cuda::Rounding::kNone ? value : rounded(static_cast<float>(value), w.rounding);
    }
  }
}

/// alpha and beta have the scale type; the sum is rounded to it before.
double in_scale_type(Type scale, double value) {
  return scale == Type::kFloat ? static_cast<double>(static_cast<float>(value)) : value;
}

double finished(const MatmulWork& w, double value) {
  switch (w.activation) {
    case Activation::kRelu:
      return value < 0 ? 0 : value;  // NaN stays
    case Activation::kGelu:
      return fake_cuda::gelu_tanh(value);
    default:
      return value;
  }
}

int32_t wrapped(double value) {
  return static_cast<int32_t>(static_cast<uint64_t>(static_cast<int64_t>(value)));
}

void multiply_batch(const MatmulWork& w, void* const* memory, int64_t batch) {
  const void *a = memory[w.a.range], *b = memory[w.b.range];
  const void* const c = w.beta != 0 ? memory[w.c.range] : nullptr;
  const void* const bias = w.bias.range >= 0 ? memory[w.bias.range] : nullptr;
  void* const d = memory[w.d.range];
  fake_cuda::Product p{
      .rows = w.rows, .columns = w.columns, .depth = w.depth, .load_a = {}, .load_b = {}, .store = {}};
  p.load_a = [&](double* to, int64_t stride, int64_t i0, int64_t rows, int64_t k0, int64_t depth) {
    copy_part(to, stride, w, w.a, a, w.a.at(batch, i0, k0), w.a.row_step, rows, w.a.column_step, depth);
  };
  p.load_b = [&](double* to, int64_t stride, int64_t j0, int64_t columns, int64_t k0, int64_t depth) {
    copy_part(to, stride, w, w.b, b, w.b.at(batch, k0, j0), w.b.column_step, columns, w.b.row_step, depth);
  };
  p.store = [&](const double* sums, int64_t stride, int64_t i0, int64_t rows, int64_t j0, int64_t columns) {
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = 0; i < rows; ++i) {
        double value = in_scale_type(w.scale, w.alpha * in_scale_type(w.scale, sums[i * stride + j]));
        if (c != nullptr) value += w.beta * load(c, w.c.type, w.c.at(batch, i0 + i, j0 + j));
        if (bias != nullptr) value += load(bias, w.bias.type, w.bias.at(batch, i0 + i, 0));
        value = finished(w, value);
        const int64_t at = w.d.at(batch, i0 + i, j0 + j);
        if (w.wraps) {
          fake_cuda::write_as(d, at, wrapped(value));
        } else {
          fake_cuda::store(d, w.d.type, at, value);
        }
      }
    }
  };
  fake_cuda::multiply(p);
}

}  // namespace

extern "C" const char* tenon_fake_cublaslt_matmul(void* const* memory, const void* arguments, size_t bytes) {
  if (bytes != sizeof(MatmulWork)) return "cublasLtMatmul: arguments of another version";
  MatmulWork w;
  std::memcpy(&w, arguments, sizeof(w));
  if (w.alpha_range >= 0) w.alpha = load(memory[w.alpha_range], w.scale, 0);
  if (w.beta_range >= 0) w.beta = load(memory[w.beta_range], w.scale, 0);
  // What others keep in the workspace is gone.
  if (w.workspace_range >= 0)
    std::memset(memory[w.workspace_range], 0xcd, static_cast<size_t>(w.workspace_bytes));
  for (int64_t batch = 0; batch < w.batch; ++batch) multiply_batch(w, memory, batch);
  return nullptr;
}
