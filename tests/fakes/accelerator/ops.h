// The operators of the accelerator: shapes and arithmetic, float32 only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace accelerator {

using Dims = std::vector<int64_t>;

enum class OpKind {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRelu,
  kNeg,
  kTanh,
  kSigmoid,
  kIdentity,
  kMatMul,
  kConcat,
  kReshape
};

std::optional<OpKind> op_from_name(std::string_view name);
/// Number of data inputs: 1 or 2. Reshape has 1, and a shape in addition. Concat is of two tensors.
size_t data_inputs(OpKind kind);
int64_t elements(const Dims& dims);

/// Throws Error if the shapes do not fit. `target`: the shape given to Reshape, or the axis of Concat, from 0.
Dims infer(OpKind kind, std::span<const Dims> inputs, std::span<const int64_t> target);

struct View {
  const float* data;
  Dims dims;
};
/// `target` as for infer().
void compute(OpKind kind, std::span<const View> inputs, float* output, const Dims& dims,
             std::span<const int64_t> target);

/// Rounds numbers to bfloat16, towards zero.
void round_to_bf16(std::span<float> numbers);

}  // namespace accelerator
