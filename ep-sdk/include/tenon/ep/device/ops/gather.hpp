// Gather, GatherElements and GatherND. Negative indices count from the end. An index out of range is an error in prepare()
// if the indices are constant, otherwise when the host waits for the work.
//
// Kernels Gather(x, index, y, flag, outer, size, inner, count), GatherElements(x, index, y, flag, walk, size, stride) with the place
// in x for index 0, and GatherND(x, index, y, flag, walk, tuples, width, slice, per_batch, batch_stride) with the dimensions of x that
// a tuple addresses.
#ifndef TENON_EP_DEVICE_OPS_GATHER_HPP_
#define TENON_EP_DEVICE_OPS_GATHER_HPP_

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/indices.hpp"
#include "tenon/ep/device/ops/copy.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

/// Settings: M, and I for the indices.
inline Settings gather_settings(const NodeView& n) {
  return {moves(n.input(0).dtype()), computes_in(n.input(1).dtype(), "I")};
}
inline Support check_gather(const NodeView& n) {
  return Check(n).input(0, kDeviceTypes).input(1, kIndexTypes);
}

inline bool has_constant_indices(const NodeView& n) { return n.input(1).is_constant(); }

inline void require_rows(int64_t size, int64_t wanted) {
  require(size > 0 || wanted == 0, TENON_OUT_OF_RANGE, "an axis without elements cannot be indexed");
}

struct GatherState {
  int32_t outer, size, inner, count;
};

template <class B>
class Gather {
 public:
  static Support supports(const NodeView& n) { return check_gather(n); }
  explicit Gather(const NodeView& n)
      : axis_(n.attr_i("axis", 0)),
        is_constant_(has_constant_indices(n)),
        kernel_(B::load(n, n.op(), gather_settings(n))) {}
  GatherState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), index = p.input(1).dims();
    const size_t axis = checked_axis(axis_, x.size());
    Dims dims(x.begin(), x.begin() + static_cast<long>(axis));
    dims.insert(dims.end(), index.begin(), index.end());
    dims.insert(dims.end(), x.begin() + static_cast<long>(axis) + 1, x.end());
    p.set_output(0, dims);
    require_rows(x[axis], element_count(dims));
    if (is_constant_) require_indices(p.input(1), x.subspan(axis, 1));
    narrow(element_count(dims));
    return {narrow(element_count(x.first(axis))), narrow(x[axis]), narrow(element_count(x.subspan(axis + 1))),
            narrow(element_count(index))};
  }
  void record(typename B::Recorder& ctx, const GatherState& p) const {
    launch(ctx, kernel_,
           {static_cast<size_t>(std::max(1, p.inner)), static_cast<size_t>(p.count),
            static_cast<size_t>(std::max(1, p.outer))},
           in(ctx.input(0)), in(ctx.input(1)), out(ctx.output(0)), FlagArg{}, p.outer, p.size, p.inner,
           p.count);
  }

 private:
  int64_t axis_;
  bool is_constant_;
  typename B::Kernel kernel_;
};

struct GatherElementsState {
  Walk walk;
  int32_t size, stride;
};

template <class B>
class GatherElements {
 public:
  static Support supports(const NodeView& n) { return check_gather(n); }
  explicit GatherElements(const NodeView& n)
      : axis_(n.attr_i("axis", 0)),
        is_constant_(has_constant_indices(n)),
        kernel_(B::load(n, n.op(), gather_settings(n))) {}
  GatherElementsState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), index = p.input(1).dims();
    const size_t axis = checked_axis(axis_, x.size());
    for (size_t d = 0; d < x.size(); ++d)
      require(d == axis || index[d] <= x[d], TENON_OUT_OF_RANGE, "indices of shape ", index,
              " do not fit input ", x);
    p.set_output(0, index);
    require_rows(x[axis], element_count(index));
    if (is_constant_) require_indices(p.input(1), x.subspan(axis, 1));
    Dims strides = dense_strides(x);
    const int64_t stride = strides[axis];
    strides[axis] = 0;
    return {make_walk(index, {strides}), narrow(x[axis]), narrow(stride)};
  }
  void record(typename B::Recorder& ctx, const GatherElementsState& state) const {
    launch(ctx, kernel_, items_of(state.walk), in(ctx.input(0)), in(ctx.input(1)), out(ctx.output(0)),
           FlagArg{}, state.walk, state.size, state.stride);
  }

 private:
  int64_t axis_;
  bool is_constant_;
  typename B::Kernel kernel_;
};

struct GatherTupleState {
  Walk axes{};
  int32_t tuples, width, slice, per_batch, batch_stride;
};

template <class B>
class GatherND {
 public:
  static Support supports(const NodeView& n) { return check_gather(n); }
  explicit GatherND(const NodeView& n)
      : batch_dims_(n.attr_i("batch_dims", 0)),
        is_constant_(has_constant_indices(n)),
        kernel_(B::load(n, n.op(), gather_settings(n))) {}
  GatherTupleState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), index = p.input(1).dims();
    const auto batch = static_cast<size_t>(batch_dims_);
    const int64_t width = index.back();
    require(batch_dims_ >= 0 && batch < index.size() && width >= 0 && width <= kMaxWalkRank &&
                batch + static_cast<size_t>(width) <= x.size(),
            TENON_INVALID_ARGUMENT, "tuples of ", width, " indices do not fit input ", x);
    for (size_t d = 0; d < batch; ++d)
      require(index[d] == x[d], TENON_INVALID_ARGUMENT, "the first ", batch, " dims of the indices ", index,
              " are not those of ", x);
    if (is_constant_ && width > 0) require_indices(p.input(1), x.subspan(batch, static_cast<size_t>(width)));
    Dims dims(index.begin(), index.end() - 1);
    const DimsView rest = x.subspan(batch + static_cast<size_t>(width));
    dims.insert(dims.end(), rest.begin(), rest.end());
    p.set_output(0, dims);
    GatherTupleState out;
    const Dims strides = dense_strides(x);
    for (int64_t d = 0; d < width; ++d) {
      out.axes.size[d] = narrow(x[batch + static_cast<size_t>(d)]);
      out.axes.stride[0][d] = narrow(strides[batch + static_cast<size_t>(d)]);
      require_rows(out.axes.size[d], element_count(dims));
    }
    out.tuples = narrow(element_count(index.first(index.size() - 1)));
    out.width = narrow(width);
    out.slice = narrow(element_count(rest));
    const int64_t batches = element_count(x.first(batch));
    out.per_batch = narrow(std::max<int64_t>(1, batches == 0 ? 1 : out.tuples / batches));
    out.batch_stride = narrow(element_count(x.subspan(batch)));
    return out;
  }
  void record(typename B::Recorder& ctx, const GatherTupleState& state) const {
    launch(ctx, kernel_,
           {static_cast<size_t>(std::max(1, state.slice)), static_cast<size_t>(state.tuples), 1},
           in(ctx.input(0)), in(ctx.input(1)), out(ctx.output(0)), FlagArg{}, state.axes, state.tuples,
           state.width, state.slice, state.per_batch, state.batch_stride);
  }

 private:
  int64_t batch_dims_;
  bool is_constant_;
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_GATHER_HPP_
