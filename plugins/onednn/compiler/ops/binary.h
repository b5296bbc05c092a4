// Element-wise functions of two tensors with ONNX's broadcasting.
#pragma once

#include "compiler/builder.h"

namespace tenon::onednn {

/// ONNX's broadcast of both shapes. Throws INVALID_ARGUMENT if they do not fit.
Dims broadcast_shape(const Dims& x, const Dims& y);
/// x with that rank, ones added in front.
Tensor with_rank(Builder& b, const Tensor& x, size_t rank);
/// Adds the tasks for `value` = f(x, y). With `fuse`, the following pointwise nodes are taken in.
void add_binary(Builder& b, uint32_t value, Binary f, const Tensor& x, const Tensor& y, bool fuse);

}  // namespace tenon::onednn
