// Copies between positions that strides describe: all operators that only move whole elements.
#pragma once

#include "kernels/common/kernel.h"

namespace tenon::opencl {

/// y[y_start + walk of operand 1] = x[x_start + walk of operand 0].
struct StridedCopy {
  Walk walk{};
  cl_int x_start = 0, y_start = 0;
};

/// The kernels for elements of one size.
class CopyKernels {
 public:
  CopyKernels() = default;
  CopyKernels(const NodeView& node, uint32_t dtype);

  template <class X, class Y>
  void record(const Context& ctx, const StridedCopy& copy, const X& x, const Y& y) const {
    launch(ctx, strided_, global_of(copy.walk), x, y, copy.walk, copy.x_start, copy.y_start);
  }
  /// `n` elements from one dense tensor to another; nothing when they are the same memory.
  void record_dense(const Context& ctx, const TensorView& x, const OutputTensor& y) const;

 private:
  KernelRef strided_;
};

/// A copy of dense `dims` from strided x to dense y.
StridedCopy gather_copy(DimsView dims, Dims x_strides, int64_t x_start = 0);

/// `axis` counted from the front; throws when there is no such axis.
inline size_t checked_axis(int64_t axis, size_t rank) {
  const int64_t from_front = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  require(from_front >= 0 && from_front < static_cast<int64_t>(rank), TENON_INVALID_ARGUMENT, "axis ", axis,
          " of a tensor of rank ", rank);
  return static_cast<size_t>(from_front);
}

/// `axes` counted from the front; throws when there is no such axis, or one is named twice.
std::vector<size_t> checked_axes(const std::vector<int64_t>& axes, size_t rank);

/// What `axes` mean, from an input when it is there, else from the attribute. Empty when neither is.
std::vector<int64_t> axes_of(const PrepareContext& p, int input, const std::vector<int64_t>& attribute);

}  // namespace tenon::opencl
