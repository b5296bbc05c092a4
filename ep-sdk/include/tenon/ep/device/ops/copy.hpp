// Strided copies, for all operators that only move whole elements.
#ifndef TENON_EP_DEVICE_OPS_COPY_HPP_
#define TENON_EP_DEVICE_OPS_COPY_HPP_

#include "tenon/ep/device/launch.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

/// y[y_start + walk of operand 1] = x[x_start + walk of operand 0].
struct StridedCopy {
  Walk walk{};
  int32_t x_start = 0, y_start = 0;
};

/// A copy from strided x to dense y, both of shape `dims`.
inline StridedCopy gather_copy(DimsView dims, Dims x_strides, int64_t x_start = 0) {
  return {make_walk(dims, {std::move(x_strides), dense_strides(dims)}), narrow(x_start), 0};
}

/// The kernel Strided(x, y, walk, x_start, y_start) for one element size.
template <class B>
class CopyKernels {
 public:
  CopyKernels() = default;
  CopyKernels(const NodeView& node, uint32_t dtype) : strided_(B::load(node, "Strided", {moves(dtype)})) {}

  template <class X, class Y>
  void record(typename B::Recorder& ctx, const StridedCopy& copy, const X& x, const Y& y) const {
    launch(ctx, strided_, items_of(copy.walk), x, y, copy.walk, copy.x_start, copy.y_start);
  }
  /// Copies all elements between dense tensors. Records nothing if both share memory.
  void record_dense(typename B::Recorder& ctx, const TensorView& x, const OutputTensor& y) const {
    const tenon_tensor &from = *x.raw(), &to = *TensorView(y).raw();
    const bool same = from.buffer == to.buffer && from.byte_offset == to.byte_offset && from.data == to.data;
    if (same && (from.buffer != nullptr || from.data != nullptr)) return;
    const Dims flat{y.size()};
    record(ctx, {make_walk(flat, {{1}, {1}}), 0, 0}, in(x), out(y));
  }

 private:
  typename B::Kernel strided_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_COPY_HPP_
