// Operations on tensors as lists of floats, in the device's process.
#pragma once

#include <vector>

#include "work.h"

namespace fake_cudnn {

/// The elements of a tensor, the last axis innermost.
using Elements = std::vector<float>;

/// Calls `visit(offsets)` for each element of `dims`; offsets are those of the operands, whose strides along axes of one element
/// are 0.
struct Steps {
  int64_t strides[kMostDims] = {};
  /// Of elements in a list, broadcast to `to`.
  static Steps broadcast(const Tensor& from, const Tensor& to);
};
template <int kOperands, class Visit>
void for_each(const Tensor& over, const Steps (&steps)[kOperands], const Visit& visit) {
  int64_t index[kMostDims] = {}, offset[kOperands] = {};
  const int64_t count = over.elements();
  for (int64_t i = 0; i < count; ++i) {
    visit(i, offset);
    for (int32_t d = over.rank - 1; d >= 0; --d) {
      for (int k = 0; k < kOperands; ++k) offset[k] += steps[k].strides[d];
      if (++index[d] < over.dims[d]) break;
      for (int k = 0; k < kOperands; ++k) offset[k] -= steps[k].strides[d] * over.dims[d];
      index[d] = 0;
    }
  }
}

double pointwise(const Node& node, double x, double b, double t);

Elements convolve(const Node& node, const Tensor& x, const Elements& from, const Tensor& w,
                  const Elements& filters, const Tensor& y, fake_cuda::Rounding rounding);
Elements multiply(const Tensor& a, const Elements& left, const Tensor& b, const Elements& right,
                  const Tensor& c, fake_cuda::Rounding rounding);
/// Of queries (x), keys (b) and values (t).
Elements attend(const Tensor& q, const Elements& queries, const Tensor& k, const Elements& keys,
                const Tensor& v, const Elements& values, double scale);
Elements reduce(const Node& node, const Tensor& x, const Elements& from, const Tensor& y);

}  // namespace fake_cudnn
