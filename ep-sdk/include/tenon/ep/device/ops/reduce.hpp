// Reductions over any axes, and ArgMax and ArgMin over one. A work-item for each output element.
//
// Kernels of the operators' names: (x, y, kept, reduced, count); ArgMax and ArgMin: (x, y, kept, count, stride, last). `kept` goes
// over the outputs, `reduced` over the elements of one output. Operand 0 of both is x.
#ifndef TENON_EP_DEVICE_OPS_REDUCE_HPP_
#define TENON_EP_DEVICE_OPS_REDUCE_HPP_

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/ops/copy.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

/// The axes of x that are kept and those that are reduced.
struct ReducedAxes {
  Dims kept_dims, kept_strides, reduced_dims, reduced_strides, output;
};

inline ReducedAxes split_axes(DimsView x, const std::vector<bool>& goes, bool keep) {
  ReducedAxes out;
  const Dims dense = dense_strides(x);
  for (size_t d = 0; d < x.size(); ++d) {
    (goes[d] ? out.reduced_dims : out.kept_dims).push_back(x[d]);
    (goes[d] ? out.reduced_strides : out.kept_strides).push_back(dense[d]);
    if (!goes[d]) out.output.push_back(x[d]);
    if (goes[d] && keep) out.output.push_back(1);
  }
  return out;
}

struct ReduceState {
  Walk kept, reduced;
  int32_t count;
};

template <class B>
class Reduce {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    const bool real_only = n.op() == "ReduceL2" || n.op() == "ReduceLogSum" || n.op() == "ReduceLogSumExp";
    if (real_only) return check.input(0, kDeviceRealTypes);
    if (n.op() == "ReduceMax" || n.op() == "ReduceMin")
      return check.input(0, kDeviceRealTypes + kIntTypes + kBoolType);
    return check.input(0, kDeviceRealTypes + kIntTypes);
  }
  static std::vector<int> shape_inputs(const NodeView& n) {
    return n.input_count() > 1 ? std::vector<int>{1} : std::vector<int>{};
  }
  explicit Reduce(const NodeView& n)
      : axes_(n.attr_ints("axes")),
        keep_(n.attr_i("keepdims", 1) != 0),
        noop_(n.attr_i("noop_with_empty_axes", 0) != 0),
        kernel_(B::load(n, n.op(), {computes_in(n.input(0).dtype())})) {}

  ReduceState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const std::vector<int64_t> axes = axes_of(p, 1, axes_);
    std::vector<bool> goes(x.size(), axes.empty() && !noop_);
    for (const size_t axis : checked_axes(axes, x.size())) goes[axis] = true;
    const ReducedAxes a = split_axes(x, goes, keep_);
    p.set_output(0, a.output);
    return {make_walk(a.kept_dims, {a.kept_strides}), make_walk(a.reduced_dims, {a.reduced_strides}),
            narrow(element_count(a.reduced_dims))};
  }
  void record(typename B::Recorder& ctx, const ReduceState& state) const {
    launch(ctx, kernel_, items_of(state.kept), in(ctx.input(0)), out(ctx.output(0)), state.kept,
           state.reduced, state.count);
  }

 private:
  std::vector<int64_t> axes_;
  bool keep_, noop_;
  typename B::Kernel kernel_;
};

struct ArgReduceState {
  Walk kept;
  int32_t count, stride;
};

template <class B>
class ArgReduce {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kDeviceRealTypes + kIntTypes); }
  explicit ArgReduce(const NodeView& n)
      : axis_(n.attr_i("axis", 0)),
        keep_(n.attr_i("keepdims", 1) != 0),
        last_(n.attr_i("select_last_index", 0) != 0),
        kernel_(B::load(n, n.op(), {computes_in(n.input(0).dtype())})) {}
  ArgReduceState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const size_t axis = checked_axis(axis_, x.size());
    std::vector<bool> goes(x.size(), false);
    goes[axis] = true;
    const ReducedAxes a = split_axes(x, goes, keep_);
    p.set_output(0, a.output);
    require(x[axis] > 0 || element_count(a.output) == 0, TENON_INVALID_ARGUMENT,
            "an axis without elements has no maximum or minimum");
    return {make_walk(a.kept_dims, {a.kept_strides}), narrow(x[axis]), narrow(dense_strides(x)[axis])};
  }
  void record(typename B::Recorder& ctx, const ArgReduceState& state) const {
    launch(ctx, kernel_, items_of(state.kept), in(ctx.input(0)), out(ctx.output(0)), state.kept, state.count,
           state.stride, int32_t{last_});
  }

 private:
  int64_t axis_;
  bool keep_, last_;
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_REDUCE_HPP_
