// ScatterElements (and Scatter) and ScatterND. Updates of one place must be applied in order, so one work-item does all that can
// address the same place: a line along the axis, or a column of the slices.
//
// Kernels Elements(index, updates, y, flag, walk, count, index_stride, size, y_stride), whose walk goes over the lines of the indices
// (operand 0 is the place in y, operand 1 in the indices), and Tuples(index, updates, y, flag, walk, tuples, width, slice). y holds
// the data.
#ifndef TENON_EP_DEVICE_OPS_SCATTER_HPP_
#define TENON_EP_DEVICE_OPS_SCATTER_HPP_

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/indices.hpp"
#include "tenon/ep/device/ops/copy.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

inline int scatter_mode(const NodeView& n) {
  const std::string name = n.attr_s("reduction", "none");
  constexpr std::string_view kNames[] = {"none", "add", "mul", "max", "min"};
  return static_cast<int>(std::find(std::begin(kNames), std::end(kNames), name) - std::begin(kNames));
}

inline Support check_scatter(const NodeView& n) {
  const bool moves = scatter_mode(n) == 0;
  const auto wide = TypeList<float, double>() + kIntTypes;  // float16 in memory cannot be used for arithmetic
  Check check_scatter(n);
  check_scatter.input(1, kIndexTypes).attr_is("reduction", {"none", "add", "mul", "max", "min"});
  return moves ? check_scatter.input(0, kDeviceTypes) : check_scatter.input(0, wide);
}

/// Settings: M or T, I for the indices, and MODE.
inline Settings scatter_settings(const NodeView& n) {
  const uint32_t dtype = n.input(0).dtype();
  const int mode = scatter_mode(n);
  return {mode == 0 ? moves(dtype) : computes_in(dtype), computes_in(n.input(1).dtype(), "I"),
          number("MODE", mode)};
}
struct ScatterElementsState {
  Walk walk;
  int32_t count, index_stride, size, y_stride;
};

template <class B>
class ScatterElements {
 public:
  static Support supports(const NodeView& n) { return check_scatter(n); }
  explicit ScatterElements(const NodeView& n)
      : axis_(n.attr_i("axis", 0)),
        is_constant_(n.input(1).is_constant()),
        copy_(n, n.input(0).dtype()),
        kernel_(B::load(n, "Elements", scatter_settings(n))) {}
  ScatterElementsState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), index = p.input(1).dims();
    const size_t axis = checked_axis(axis_, x.size());
    for (size_t d = 0; d < x.size(); ++d)
      require(d == axis || index[d] <= x[d], TENON_OUT_OF_RANGE, "indices of shape ", index, " for ", x);
    if (is_constant_) require_indices(p.input(1), x.subspan(axis, 1));
    p.set_output(0, x);
    p.may_overwrite(0, 0);
    Dims lines(index.begin(), index.end());
    const int64_t count = lines[axis];
    lines[axis] = element_count(index) == 0 ? 0 : 1;
    const Dims y_strides = dense_strides(x), index_strides = dense_strides(index);
    return {make_walk(lines, {y_strides, index_strides}), narrow(count), narrow(index_strides[axis]),
            narrow(x[axis]), narrow(y_strides[axis])};
  }
  void record(typename B::Recorder& ctx, const ScatterElementsState& state) const {
    copy_.record_dense(ctx, ctx.input(0), ctx.output(0));
    launch(ctx, kernel_, items_of(state.walk), in(ctx.input(1)), in(ctx.input(2)), out(ctx.output(0)),
           FlagArg{}, state.walk, state.count, state.index_stride, state.size, state.y_stride);
  }

 private:
  int64_t axis_;
  bool is_constant_;
  typename B::Copies copy_;
  typename B::Kernel kernel_;
};

struct ScatterTupleState {
  Walk axes{};
  int32_t tuples, width, slice;
};

template <class B>
class ScatterND {
 public:
  static Support supports(const NodeView& n) { return check_scatter(n); }
  explicit ScatterND(const NodeView& n)
      : is_constant_(n.input(1).is_constant()),
        copy_(n, n.input(0).dtype()),
        kernel_(B::load(n, "Tuples", scatter_settings(n))) {}
  ScatterTupleState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), index = p.input(1).dims();
    require(index.back() <= std::min<int64_t>(kMaxWalkRank, static_cast<int64_t>(x.size())),
            TENON_INVALID_ARGUMENT, "tuples of ", index, " for ", x);
    const auto width = static_cast<size_t>(index.back());
    ScatterTupleState out;
    const Dims strides = dense_strides(x);
    for (size_t d = 0; d < width; ++d) {
      out.axes.size[d] = narrow(x[d]);
      out.axes.stride[0][d] = narrow(strides[d]);
    }
    out.tuples = narrow(element_count(index.first(index.size() - 1)));
    out.width = narrow(index.back());
    out.slice = narrow(element_count(x.subspan(width)));
    Dims updates(index.begin(), index.end() - 1);
    updates.insert(updates.end(), x.begin() + index.back(), x.end());
    const DimsView given = p.input(2).dims();
    require(std::equal(given.begin(), given.end(), updates.begin(), updates.end()), TENON_INVALID_ARGUMENT,
            "updates have shape ", given, ", and ", updates, " is needed");
    if (is_constant_ && width > 0) require_indices(p.input(1), x.first(width));
    p.set_output(0, x);
    p.may_overwrite(0, 0);
    return out;
  }
  void record(typename B::Recorder& ctx, const ScatterTupleState& state) const {
    copy_.record_dense(ctx, ctx.input(0), ctx.output(0));
    if (state.tuples == 0) return;
    launch(ctx, kernel_, {static_cast<size_t>(std::max(1, state.slice)), 1, 1}, in(ctx.input(1)),
           in(ctx.input(2)), out(ctx.output(0)), FlagArg{}, state.axes, state.tuples, state.width,
           state.slice);
  }

 private:
  bool is_constant_;
  typename B::Copies copy_;
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_SCATTER_HPP_
