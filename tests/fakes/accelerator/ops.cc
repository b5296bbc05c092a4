#include "ops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "memory.h"

namespace accelerator {
namespace {

constexpr std::pair<std::string_view, OpKind> kNames[] = {
    {"Add", OpKind::kAdd},       {"Sub", OpKind::kSub},         {"Mul", OpKind::kMul},
    {"Div", OpKind::kDiv},       {"Relu", OpKind::kRelu},       {"Neg", OpKind::kNeg},
    {"Tanh", OpKind::kTanh},     {"Sigmoid", OpKind::kSigmoid}, {"Identity", OpKind::kIdentity},
    {"MatMul", OpKind::kMatMul}, {"Concat", OpKind::kConcat},   {"Reshape", OpKind::kReshape},
};

Dims broadcast(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    require(x == y || x == 1 || y == 1, TENON_INVALID_ARGUMENT, "dims ", x, " and ", y,
            " cannot be broadcast");
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

Dims reshaped(const Dims& from, std::span<const int64_t> target) {
  Dims out;
  int64_t known = 1, open = -1;
  for (size_t i = 0; i < target.size(); ++i) {
    int64_t dim = target[i];
    if (dim == 0) {
      require(i < from.size(), TENON_INVALID_ARGUMENT, "Reshape: no dimension ", i, " to keep");
      dim = from[i];
    }
    if (dim == -1) {
      open = static_cast<int64_t>(i);
    } else {
      known *= dim;
    }
    out.push_back(dim);
  }
  if (open >= 0) out[static_cast<size_t>(open)] = known == 0 ? 0 : elements(from) / known;
  require(elements(out) == elements(from), TENON_INVALID_ARGUMENT, "Reshape: ", elements(from),
          " elements do not fit");
  return out;
}

Dims batch_of(const Dims& dims) { return Dims(dims.begin(), dims.end() - 2); }

/// Offset of the element of `dims` that is broadcast to position `index` of `whole`.
int64_t broadcast_offset(const Dims& dims, const Dims& whole, int64_t index) {
  int64_t offset = 0, stride = 1;
  for (size_t i = 0; i < whole.size(); ++i) {
    const int64_t at = index % whole[whole.size() - 1 - i];
    index /= whole[whole.size() - 1 - i];
    if (i >= dims.size()) continue;
    const int64_t dim = dims[dims.size() - 1 - i];
    if (dim != 1) offset += at * stride;
    stride *= dim;
  }
  return offset;
}

float binary(OpKind kind, float a, float b) {
  switch (kind) {
    case OpKind::kAdd:
      return a + b;
    case OpKind::kSub:
      return a - b;
    case OpKind::kMul:
      return a * b;
    default:
      return a / b;
  }
}

float unary(OpKind kind, float a) {
  switch (kind) {
    case OpKind::kRelu:
      return a > 0 || std::isnan(a) ? a : 0;
    case OpKind::kNeg:
      return -a;
    case OpKind::kTanh:
      return std::tanh(a);
    case OpKind::kSigmoid:
      return 1 / (1 + std::exp(-a));
    default:
      return a;
  }
}

void matmul(const View& a, const View& b, float* out, const Dims& dims) {
  const int64_t m = dims[dims.size() - 2], n = dims.back(), k = a.dims.back();
  const Dims batch = batch_of(dims), batch_a = batch_of(a.dims), batch_b = batch_of(b.dims);
  for (int64_t i = 0; i < elements(batch); ++i) {
    const float* x = a.data + broadcast_offset(batch_a, batch, i) * m * k;
    const float* y = b.data + broadcast_offset(batch_b, batch, i) * k * n;
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t column = 0; column < n; ++column) {
        float sum = 0;
        for (int64_t j = 0; j < k; ++j) sum += x[row * k + j] * y[j * n + column];
        *out++ = sum;
      }
    }
  }
}

Dims joined(const Dims& a, const Dims& b, size_t axis) {
  require(axis < a.size() && a.size() == b.size(), TENON_INVALID_ARGUMENT, "Concat: the ranks do not fit");
  Dims out = a;
  for (size_t i = 0; i < a.size(); ++i) {
    require(i == axis || a[i] == b[i], TENON_INVALID_ARGUMENT, "Concat: dims ", a[i], " and ", b[i],
            " differ");
  }
  out[axis] += b[axis];
  return out;
}

void concat(const View& a, const View& b, float* out, size_t axis) {
  const auto split = static_cast<ptrdiff_t>(axis);
  const int64_t outer = elements(Dims(a.dims.begin(), a.dims.begin() + split));
  const int64_t of_a = elements(Dims(a.dims.begin() + split, a.dims.end()));
  const int64_t of_b = elements(Dims(b.dims.begin() + split, b.dims.end()));
  for (int64_t i = 0; i < outer; ++i) {
    out = std::copy_n(a.data + i * of_a, of_a, out);
    out = std::copy_n(b.data + i * of_b, of_b, out);
  }
}

}  // namespace

std::optional<OpKind> op_from_name(std::string_view name) {
  for (const auto& entry : kNames) {
    if (entry.first == name) return entry.second;
  }
  return std::nullopt;
}

size_t data_inputs(OpKind kind) {
  return kind <= OpKind::kDiv || kind == OpKind::kMatMul || kind == OpKind::kConcat ? 2 : 1;
}

int64_t elements(const Dims& dims) {
  int64_t out = 1;
  for (const int64_t dim : dims) out *= dim;
  return out;
}

Dims infer(OpKind kind, std::span<const Dims> inputs, std::span<const int64_t> target) {
  if (kind == OpKind::kReshape) return reshaped(inputs[0], target);
  if (data_inputs(kind) == 1) return inputs[0];
  if (kind == OpKind::kConcat) return joined(inputs[0], inputs[1], static_cast<size_t>(target[0]));
  if (kind != OpKind::kMatMul) return broadcast(inputs[0], inputs[1]);
  const Dims &a = inputs[0], &b = inputs[1];
  require(a.size() >= 2 && b.size() >= 2 && a.back() == b[b.size() - 2], TENON_INVALID_ARGUMENT,
          "MatMul: the shapes do not fit");
  Dims out = broadcast(batch_of(a), batch_of(b));
  out.push_back(a[a.size() - 2]);
  out.push_back(b.back());
  return out;
}

void compute(OpKind kind, std::span<const View> inputs, float* output, const Dims& dims,
             std::span<const int64_t> target) {
  const int64_t n = elements(dims);
  if (kind == OpKind::kConcat) return concat(inputs[0], inputs[1], output, static_cast<size_t>(target[0]));
  if (kind == OpKind::kMatMul) return matmul(inputs[0], inputs[1], output, dims);
  for (int64_t i = 0; i < n; ++i) {
    if (data_inputs(kind) == 1) {
      output[i] = unary(kind, inputs[0].data[i]);
    } else {
      output[i] = binary(kind, inputs[0].data[broadcast_offset(inputs[0].dims, dims, i)],
                         inputs[1].data[broadcast_offset(inputs[1].dims, dims, i)]);
    }
  }
}

void round_to_bf16(std::span<float> numbers) {
  for (float& number : numbers) number = std::bit_cast<float>(std::bit_cast<uint32_t>(number) & 0xFFFF0000u);
}

}  // namespace accelerator
