// Operators that move whole elements: each is one or several strided copies, or a view.
#ifndef TENON_EP_DEVICE_OPS_MOVES_HPP_
#define TENON_EP_DEVICE_OPS_MOVES_HPP_

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/ops/copy.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

/// Begin, end and step per axis of x, clamped as in ONNX.
struct SliceRange {
  int64_t begin, count, step;
};

inline SliceRange clamped_range(int64_t begin, int64_t end, int64_t step, int64_t size) {
  require(step != 0, TENON_INVALID_ARGUMENT, "a step is 0");
  if (begin < 0) begin += size;
  if (end < 0) end += size;
  begin = step > 0 ? std::clamp<int64_t>(begin, 0, size)
                   : std::clamp<int64_t>(begin, 0, std::max<int64_t>(size - 1, 0));
  end = step > 0 ? std::clamp<int64_t>(end, 0, size) : std::clamp<int64_t>(end, -1, size - 1);
  const int64_t span = step > 0 ? end - begin : begin - end;
  const int64_t stride = step > 0                                      ? step
                         : step == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max()
                                                                       : -step;
  return {begin, span <= 0 || size == 0 ? 0 : (span - 1) / stride + 1, step};
}

inline StridedCopy slice_copy(PrepareContext& p, const std::vector<int64_t>& starts,
                              const std::vector<int64_t>& ends, std::vector<int64_t> axes,
                              std::vector<int64_t> steps) {
  const DimsView x = p.input(0).dims();
  for (size_t i = 0, given = axes.size(); i < starts.size() && given == 0; ++i)
    axes.push_back(static_cast<int64_t>(i));
  if (steps.empty()) steps.assign(starts.size(), 1);
  require(ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
          TENON_INVALID_ARGUMENT, "starts, ends, axes and steps differ in length");
  const std::vector<size_t> places = checked_axes(axes, x.size());
  Dims dims(x.begin(), x.end()), strides = dense_strides(x);
  int64_t start = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const size_t axis = places[i];
    const SliceRange range = clamped_range(starts[i], ends[i], steps[i], x[axis]);
    dims[axis] = range.count;
    start += range.count == 0 ? 0 : range.begin * strides[axis];
    strides[axis] = range.count <= 1 ? strides[axis] : strides[axis] * range.step;
  }
  p.set_output(0, dims);
  return gather_copy(dims, strides, start);
}

template <class B>
class Slice {
 public:
  static constexpr int shape_inputs[] = {1, 2, 3, 4};
  static Support supports(const NodeView& n) { return Check(n).input(0, kDeviceTypes); }
  explicit Slice(const NodeView& n) : copy_(n, n.input(0).dtype()) {}
  StridedCopy prepare(PrepareContext& p) const {
    const auto numbers = [&](int i) { return axes_of(p, i, {}); };
    return slice_copy(p, numbers(1), numbers(2), numbers(3), numbers(4));
  }
  void record(typename B::Recorder& ctx, const StridedCopy& copy) const {
    copy_.record(ctx, copy, in(ctx.input(0)), out(ctx.output(0)));
  }

 private:
  CopyKernels<B> copy_;
};

template <class B>
class Slice1 {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kDeviceTypes); }
  explicit Slice1(const NodeView& n)
      : starts_(n.attr_ints("starts")),
        ends_(n.attr_ints("ends")),
        axes_(n.attr_ints("axes")),
        copy_(n, n.input(0).dtype()) {}
  StridedCopy prepare(PrepareContext& p) const { return slice_copy(p, starts_, ends_, axes_, {}); }
  void record(typename B::Recorder& ctx, const StridedCopy& copy) const {
    copy_.record(ctx, copy, in(ctx.input(0)), out(ctx.output(0)));
  }

 private:
  std::vector<int64_t> starts_, ends_, axes_;
  CopyKernels<B> copy_;
};

inline Dims permuted(DimsView from, const std::vector<int64_t>& order) {
  Dims out;
  for (const int64_t axis : order) out.push_back(from[checked_axis(axis, from.size())]);
  return out;
}

template <class B>
class Transpose {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kDeviceTypes); }
  explicit Transpose(const NodeView& n)
      : order_(n.attr_ints("perm")), is_given_(n.has_attr("perm")), copy_(n, n.input(0).dtype()) {}
  StridedCopy prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    std::vector<int64_t> order = order_;
    for (size_t d = x.size(); d-- > 0 && !is_given_;) order.push_back(static_cast<int64_t>(d));
    require(order.size() == x.size(), TENON_INVALID_ARGUMENT, "perm has ", order.size(), " axes for rank ",
            x.size());
    std::vector<bool> seen(x.size(), false);
    for (const int64_t axis : order) {
      const size_t at = checked_axis(axis, x.size());
      require(!seen[at], TENON_INVALID_ARGUMENT, "perm names axis ", axis, " twice");
      seen[at] = true;
    }
    const Dims dims = permuted(x, order);
    p.set_output(0, dims);
    return gather_copy(dims, permuted(dense_strides(x), order));
  }
  void record(typename B::Recorder& ctx, const StridedCopy& copy) const {
    copy_.record(ctx, copy, in(ctx.input(0)), out(ctx.output(0)));
  }

 private:
  std::vector<int64_t> order_;
  bool is_given_;
  CopyKernels<B> copy_;
};

template <class B>
class Expand {
 public:
  static constexpr int shape_inputs[] = {1};
  static Support supports(const NodeView& n) { return Check(n).input(0, kDeviceTypes); }
  explicit Expand(const NodeView& n) : copy_(n, n.input(0).dtype()) {}
  StridedCopy prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const Dims dims = broadcast_dims(x, p.input(1).to_dims());
    p.set_output(0, dims);
    return gather_copy(dims, broadcast_strides(x, dims));
  }
  void record(typename B::Recorder& ctx, const StridedCopy& copy) const {
    copy_.record(ctx, copy, in(ctx.input(0)), out(ctx.output(0)));
  }

 private:
  CopyKernels<B> copy_;
};

template <class B>
class Concat {
 public:
  static Support supports(const NodeView& n) { return Check(n).inputs(0, kDeviceTypes); }
  explicit Concat(const NodeView& n) : axis_(n.attr_i("axis", 1)), copy_(n, n.input(0).dtype()) {}
  std::vector<StridedCopy> prepare(PrepareContext& p) const {
    const DimsView first = p.input(0).dims();
    const size_t axis = checked_axis(axis_, first.size());
    Dims dims(first.begin(), first.end());
    dims[axis] = 0;
    for (int i = 0; i < p.input_count(); ++i) {
      const DimsView x = p.input(i).dims();
      require(x.size() == dims.size(), TENON_INVALID_ARGUMENT, "inputs of ranks ", dims.size(), " and ",
              x.size());
      for (size_t d = 0; d < dims.size(); ++d)
        require(d == axis || x[d] == dims[d], TENON_INVALID_ARGUMENT, "the shapes ", first, " and ", x,
                " cannot be joined at axis ", axis_);
      dims[axis] += x[axis];
    }
    p.set_output(0, dims);
    std::vector<StridedCopy> out;
    const Dims y_strides = dense_strides(dims);
    int64_t at = 0;
    for (int i = 0; i < p.input_count(); ++i) {
      const DimsView x = p.input(i).dims();
      out.push_back({make_walk(x, {dense_strides(x), y_strides}), 0, narrow(at * y_strides[axis])});
      at += x[axis];
    }
    return out;
  }
  void record(typename B::Recorder& ctx, const std::vector<StridedCopy>& copies) const {
    for (size_t i = 0; i < copies.size(); ++i)
      copy_.record(ctx, copies[i], in(ctx.input(static_cast<int>(i))), out(ctx.output(0)));
  }

 private:
  int64_t axis_;
  CopyKernels<B> copy_;
};

template <class B>
class Split {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kDeviceTypes); }
  static std::vector<int> shape_inputs(const NodeView& n) {
    return n.input_count() > 1 ? std::vector<int>{1} : std::vector<int>{};
  }
  explicit Split(const NodeView& n)
      : axis_(n.attr_i("axis", 0)), sizes_(n.attr_ints("split")), copy_(n, n.input(0).dtype()) {}

  std::vector<StridedCopy> prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const size_t axis = checked_axis(axis_, x.size());
    const std::vector<int64_t> sizes = sizes_of(p, x[axis]);
    const Dims strides = dense_strides(x);
    std::vector<StridedCopy> out;
    int64_t at = 0;
    for (int i = 0; i < p.output_count(); ++i) {
      Dims dims(x.begin(), x.end());
      dims[axis] = sizes[static_cast<size_t>(i)];
      p.set_output(i, dims);
      const int64_t start = dims[axis] == 0 ? 0 : at * strides[axis];
      out.push_back(gather_copy(dims, strides, start));
      at += dims[axis];
    }
    return out;
  }
  void record(typename B::Recorder& ctx, const std::vector<StridedCopy>& copies) const {
    for (int i = 0; i < ctx.output_count(); ++i) {
      if (ctx.has_output(i))
        copy_.record(ctx, copies[static_cast<size_t>(i)], in(ctx.input(0)), out(ctx.output(i)));
    }
  }

 private:
  std::vector<int64_t> sizes_of(const PrepareContext& p, int64_t size) const {
    std::vector<int64_t> sizes = axes_of(p, 1, sizes_);
    const int64_t count = p.output_count(), part = (size + count - 1) / count;
    for (int64_t i = 0, left = size; i < count && sizes.size() < static_cast<size_t>(count); ++i) {
      sizes.push_back(std::min(part, left));
      left -= sizes.back();
    }
    int64_t sum = 0;
    for (const int64_t s : sizes) {
      require(s >= 0 && s <= size, TENON_INVALID_ARGUMENT, "a part of ", s, " of ", size);
      sum += s;
    }
    require(sizes.size() == static_cast<size_t>(count) && sum == size, TENON_INVALID_ARGUMENT,
            "the parts do not add up to ", size);
    return sizes;
  }

  int64_t axis_;
  std::vector<int64_t> sizes_;
  CopyKernels<B> copy_;
};

template <class B>
class Tile {
 public:
  static constexpr int shape_inputs[] = {1};
  static Support supports(const NodeView& n) { return Check(n).input(0, kDeviceTypes); }
  explicit Tile(const NodeView& n) : copy_(n, n.input(0).dtype()) {}
  StridedCopy prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const Dims repeats = p.input(1).to_dims();
    require(repeats.size() == x.size(), TENON_INVALID_ARGUMENT, repeats.size(), " repeats for rank ",
            x.size());
    // Each axis becomes two: the repeats, with stride 0 in x, and the axis itself.
    Dims dims, twice, strides;
    const Dims dense = dense_strides(x);
    for (size_t d = 0; d < x.size(); ++d) {
      require(repeats[d] >= 0, TENON_INVALID_ARGUMENT, "repeats of ", repeats[d]);
      dims.push_back(element_count(Dims{x[d], repeats[d]}));
      twice.insert(twice.end(), {repeats[d], x[d]});
      strides.insert(strides.end(), {0, dense[d]});
    }
    p.set_output(0, dims);
    return gather_copy(twice, strides);
  }
  void record(typename B::Recorder& ctx, const StridedCopy& copy) const {
    copy_.record(ctx, copy, in(ctx.input(0)), out(ctx.output(0)));
  }

 private:
  CopyKernels<B> copy_;
};

inline StridedCopy transposed(DimsView six, const std::array<size_t, 6>& order) {
  const Dims dense = dense_strides(six);
  Dims dims, strides;
  for (const size_t axis : order) {
    dims.push_back(six[axis]);
    strides.push_back(dense[axis]);
  }
  return gather_copy(dims, strides);
}

template <class B>
class Blocks {
 public:
  static Support supports(const NodeView& n) {
    const int64_t block = n.attr_i("blocksize", 0);
    constexpr int64_t kMost = 1 << 20;  // its square must fit into an integer
    return Check(n)
        .input(0, kDeviceTypes)
        .rank(0, 4, 4)
        .attr_is("mode", {"DCR", "CRD"})
        .that(block > 0 && block <= kMost, TENON_REJECT_ATTRIBUTE, "blocksize is ", block);
  }
  explicit Blocks(const NodeView& n) : block_(n.attr_i("blocksize")), copy_(n, n.input(0).dtype()) {}
  void record(typename B::Recorder& ctx, const StridedCopy& copy) const {
    copy_.record(ctx, copy, in(ctx.input(0)), out(ctx.output(0)));
  }

 protected:
  int64_t block_;

 private:
  CopyKernels<B> copy_;
};

template <class B>
class DepthToSpace : public Blocks<B> {
 public:
  explicit DepthToSpace(const NodeView& n) : Blocks<B>(n), is_crd_(n.attr_s("mode", "DCR") == "CRD") {}
  StridedCopy prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const int64_t b = this->block_;
    require(x.size() == 4 && x[1] % (b * b) == 0, TENON_INVALID_ARGUMENT, "the shape ", x,
            " has no blocks of ", b);
    p.set_output(0, Dims{x[0], x[1] / (b * b), x[2] * b, x[3] * b});
    if (is_crd_) return transposed(Dims{x[0], x[1] / (b * b), b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
    return transposed(Dims{x[0], b, b, x[1] / (b * b), x[2], x[3]}, {0, 3, 4, 1, 5, 2});
  }

 private:
  bool is_crd_;
};

template <class B>
class SpaceToDepth : public Blocks<B> {
 public:
  explicit SpaceToDepth(const NodeView& n) : Blocks<B>(n), is_crd_(n.attr_s("mode", "DCR") == "CRD") {}
  StridedCopy prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const int64_t b = this->block_;
    require(x.size() == 4 && x[2] % b == 0 && x[3] % b == 0, TENON_INVALID_ARGUMENT, "the shape ", x,
            " has no blocks of ", b);
    p.set_output(0, Dims{x[0], x[1] * b * b, x[2] / b, x[3] / b});
    const Dims six{x[0], x[1], x[2] / b, b, x[3] / b, b};
    return is_crd_ ? transposed(six, {0, 1, 3, 5, 2, 4}) : transposed(six, {0, 3, 5, 1, 2, 4});
  }

 private:
  bool is_crd_;
};

template <class B>
class View {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kDeviceTypes)
        .that(n.output_count() == 1, TENON_REJECT_OTHER, "more than one output is not supported");
  }
  static std::vector<int> shape_inputs(const NodeView& n) {
    return n.input_count() > 1 ? std::vector<int>{1} : std::vector<int>{};
  }
  explicit View(const NodeView& n) : copy_(n, n.input(0).dtype()) {}
  void prepare(PrepareContext& p) const {
    require(element_count(output_dims(p, 0)) == p.input(0).size(), TENON_INVALID_ARGUMENT,
            "an input of shape ", p.input(0).dims(), " cannot be reshaped to ", p.output(0));
    p.view(0, 0);
  }
  void record(typename B::Recorder& ctx) const { copy_.record_dense(ctx, ctx.input(0), ctx.output(0)); }

 private:
  CopyKernels<B> copy_;
};

template <class B>
class Identity : public View<B> {
 public:
  using View<B>::View;
  static std::vector<int> shape_inputs(const NodeView&) { return {}; }
};

/// The shape is an attribute before version 5, and input 1 from then on.
template <class B>
class Reshape : public View<B> {
 public:
  explicit Reshape(const NodeView& n)
      : View<B>(n),
        allows_zero_(n.attr_i("allowzero", 0) != 0),
        from_attribute_(n.since_version() < 5),
        shape_(n.attr_ints("shape")) {}
  void prepare(PrepareContext& p) const {
    p.set_output(0, resolve(p.input(0).dims(), from_attribute_ ? shape_ : p.input(1).to_dims()));
    p.view(0, 0);
  }

 private:
  Dims resolve(DimsView x, Dims shape) const {
    const Dims wanted = shape;
    const int64_t total = element_count(x);
    int64_t rest = total;  // for the dim that is -1
    size_t open = shape.size();
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 0 && !allows_zero_) {
        require(i < x.size(), TENON_INVALID_ARGUMENT, "dim ", i,
                " of the new shape is 0 but the input has rank ", x.size());
        shape[i] = x[i];
      }
      require(shape[i] >= -1, TENON_INVALID_ARGUMENT, "dim ", i, " of the new shape is ", shape[i]);
      if (shape[i] >= 0) {
        rest = shape[i] == 0 ? 0 : rest / shape[i];  // a remainder is reported below
        continue;
      }
      require(open == shape.size(), TENON_INVALID_ARGUMENT, "the new shape has more than one -1");
      open = i;
    }
    if (open < shape.size()) shape[open] = rest;
    require(element_count(shape) == total, TENON_INVALID_ARGUMENT, "an input of shape ", x,
            " cannot be reshaped to ", wanted);
    return shape;
  }

  bool allows_zero_, from_attribute_;
  Dims shape_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_MOVES_HPP_
