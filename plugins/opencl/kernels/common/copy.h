// Strided copies, for all operators that only move whole elements.
#pragma once

#include "kernels/common/kernel.h"

namespace tenon::opencl {

/// y[y_start + walk of operand 1] = x[x_start + walk of operand 0].
struct StridedCopy {
  Walk walk{};
  cl_int x_start = 0, y_start = 0;
};

/// The copy kernels for one element size.
class CopyKernels {
 public:
  CopyKernels() = default;
  CopyKernels(const NodeView& node, uint32_t dtype);

  template <class X, class Y>
  void record(Recorder& ctx, const StridedCopy& copy, const X& x, const Y& y) const {
    launch(ctx, strided_, global_of(copy.walk), x, y, copy.walk, copy.x_start, copy.y_start);
  }
  /// Copies `n` elements between dense tensors. Records nothing if both share memory.
  void record_dense(Recorder& ctx, const TensorView& x, const OutputTensor& y) const;

 private:
  KernelRef strided_;
};

/// A copy from strided x to dense y, both of shape `dims`.
StridedCopy gather_copy(DimsView dims, Dims x_strides, int64_t x_start = 0);

/// `axis` counted from the front. Throws if it is out of range.
inline size_t checked_axis(int64_t axis, size_t rank) {
  const int64_t from_front = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  require(from_front >= 0 && from_front < static_cast<int64_t>(rank), TENON_INVALID_ARGUMENT, "axis ", axis,
          " of a tensor of rank ", rank);
  return static_cast<size_t>(from_front);
}

/// `axes` counted from the front. Throws if one is out of range or occurs twice.
std::vector<size_t> checked_axes(const std::vector<int64_t>& axes, size_t rank);

/// The axes from an input if it is present, else from the attribute. Empty if there are none.
std::vector<int64_t> axes_of(const PrepareContext& p, int input, const std::vector<int64_t>& attribute);

}  // namespace tenon::opencl
