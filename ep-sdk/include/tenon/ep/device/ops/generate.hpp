// Operators that make a tensor from a few numbers: ConstantOfShape, EyeLike and OneHot; and Trilu, which keeps a part of its
// input.
//
// Kernels Fill(y, n, low, high), Eye(y, rows, columns, shift, low, high), Trilu(x, y, rows, columns, batches, shift, upper) and
// OneHot(index, values, y, outer, depth, inner). low and high are the bits of an element.
#ifndef TENON_EP_DEVICE_OPS_GENERATE_HPP_
#define TENON_EP_DEVICE_OPS_GENERATE_HPP_

#include <cstring>

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/bits.hpp"
#include "tenon/ep/device/ops/copy.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

/// The bit pattern of the number 1.
inline ElementBits one_of(uint32_t dtype) {
  ElementBits bits{};
  dispatch(kDeviceTypes, dtype, [&]<class T>() { bits = bits_of(static_cast<T>(1)); });
  return bits;
}

/// A diagonal's offset from the main diagonal, clamped to 32 bits: no matrix accepted here is that large.
inline int32_t shift_of(int64_t k) {
  return static_cast<int32_t>(
      std::clamp<int64_t>(k, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

template <class B>
class ConstantOfShape {
 public:
  static constexpr int shape_inputs[] = {0};
  static Support supports(const NodeView& n) { return Check(n).output(0, kDeviceTypes); }
  explicit ConstantOfShape(const NodeView& n) : kernel_(B::load(n, "Fill", {moves(n.output(0).dtype())})) {
    const TensorView value = n.attr_tensor("value");
    if (value.present()) std::memcpy(&bits_, value.bytes(), static_cast<size_t>(value.byte_size()));
  }
  void prepare(PrepareContext& p) const { p.set_output(0, p.input(0).to_dims()); }
  void record(typename B::Recorder& ctx) const {
    const int64_t n = ctx.output(0).size();
    launch(ctx, kernel_, items_of(n), out(ctx.output(0)), narrow(n), bits_.low, bits_.high);
  }

 private:
  ElementBits bits_{};
  typename B::Kernel kernel_;
};

template <class B>
class EyeLike {
 public:
  static Support supports(const NodeView& n) { return Check(n).output(0, kDeviceTypes).rank(0, 2, 2); }
  explicit EyeLike(const NodeView& n)
      : shift_(shift_of(n.attr_i("k", 0))),
        one_(one_of(n.output(0).dtype())),
        kernel_(B::load(n, "Eye", {moves(n.output(0).dtype())})) {}
  void prepare(PrepareContext& p) const {
    require(p.input(0).rank() == 2, TENON_INVALID_ARGUMENT, "rank ", p.input(0).rank(), " is not a matrix");
    p.set_output(0, p.input(0).dims());
  }
  void record(typename B::Recorder& ctx) const {
    const OutputTensor y = ctx.output(0);
    launch(ctx, kernel_, {static_cast<size_t>(y.dim(1)), static_cast<size_t>(y.dim(0)), 1}, out(y),
           narrow(y.dim(0)), narrow(y.dim(1)), shift_, one_.low, one_.high);
  }

 private:
  int32_t shift_;
  ElementBits one_;
  typename B::Kernel kernel_;
};

template <class B>
class Trilu {
 public:
  static constexpr int shape_inputs[] = {1};
  static Support supports(const NodeView& n) { return Check(n).input(0, kDeviceTypes).rank(0, 2); }
  explicit Trilu(const NodeView& n)
      : upper_(static_cast<int32_t>(n.attr_i("upper", 1))),
        kernel_(B::load(n, "Trilu", {moves(n.input(0).dtype())})) {}
  int32_t prepare(PrepareContext& p) const {
    require(p.input(0).rank() >= 2, TENON_INVALID_ARGUMENT, "rank ", p.input(0).rank(), " is not a matrix");
    p.set_output(0, p.input(0).dims());
    const Dims k = p.has_input(1) ? p.input(1).to_dims() : Dims{0};
    return k.empty() ? 0 : shift_of(k[0]);
  }
  void record(typename B::Recorder& ctx, const int32_t& shift) const {
    const DimsView x = ctx.input(0).dims();
    const int64_t rows = x[x.size() - 2], columns = x.back(), batches = element_count(x.first(x.size() - 2));
    launch(ctx, kernel_, {static_cast<size_t>(columns), static_cast<size_t>(rows * batches), 1},
           in(ctx.input(0)), out(ctx.output(0)), narrow(rows), narrow(columns), narrow(batches), shift,
           upper_);
  }

 private:
  int32_t upper_;
  typename B::Kernel kernel_;
};

struct HotState {
  int32_t outer, depth, inner;
};

template <class B>
class OneHot {
 public:
  static constexpr int shape_inputs[] = {1};
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kIntTypes + TypeList<float>())
        .input(1, kIndexTypes + TypeList<float>())
        .input(2, kDeviceTypes);
  }
  explicit OneHot(const NodeView& n)
      : axis_(n.attr_i("axis", -1)),
        kernel_(B::load(n, "OneHot", {moves(n.input(2).dtype()), computes_in(n.input(0).dtype(), "I")})) {}
  HotState prepare(PrepareContext& p) const {
    const DimsView index = p.input(0).dims();
    const TensorView given = p.input(1);
    require(given.size() == 1, TENON_INVALID_ARGUMENT, "depth is not a single number");
    const int64_t depth =
        given.dtype() == TENON_FLOAT32 ? static_cast<int64_t>(given.at<float>(0)) : given.to_dims()[0];
    require(depth >= 0, TENON_INVALID_ARGUMENT, "depth is ", depth, "; it must not be negative");
    const size_t axis = checked_axis(axis_, index.size() + 1);
    Dims dims(index.begin(), index.end());
    dims.insert(dims.begin() + static_cast<long>(axis), depth);
    p.set_output(0, dims);
    return {narrow(element_count(index.first(axis))), narrow(depth),
            narrow(element_count(index.subspan(axis)))};
  }
  void record(typename B::Recorder& ctx, const HotState& p) const {
    launch(ctx, kernel_,
           {static_cast<size_t>(p.inner), static_cast<size_t>(p.depth), static_cast<size_t>(p.outer)},
           in(ctx.input(0)), in(ctx.input(2)), out(ctx.output(0)), p.outer, p.depth, p.inner);
  }

 private:
  int64_t axis_;
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_GENERATE_HPP_
