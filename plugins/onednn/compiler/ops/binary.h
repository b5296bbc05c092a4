// Functions of two tensors, element by element, with ONNX's broadcasting.
#pragma once

#include "compiler/builder.h"

namespace tenon::onednn {

/// ONNX's broadcasting of both; INVALID_ARGUMENT where they do not fit.
Dims broadcast_shape(const Dims& x, const Dims& y);
/// x as a tensor of that rank, with ones in front.
Tensor with_rank(Builder& b, const Tensor& x, size_t rank);
/// Adds the steps for `value` = f(x, y); `value` takes in what follows when `fuse`.
void add_binary(Builder& b, uint32_t value, Binary f, const Tensor& x, const Tensor& y, bool fuse);

}  // namespace tenon::onednn
