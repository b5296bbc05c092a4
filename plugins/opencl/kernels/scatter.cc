// ScatterElements (and Scatter) and ScatterND. Updates of one place must be applied in order, so one
// work-item does all that can address the same place: a line along the axis, or a column of the slices.
#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"scatter", R"CL(
#if MODE == 0
#define PUT(to, v) (to) = (v)
#elif MODE == 1
#define PUT(to, v) (to) += (v)
#elif MODE == 2
#define PUT(to, v) (to) *= (v)
#elif MODE == 3
#define PUT(to, v) (to) = (v) > (to) ? (v) : (to)
#else
#define PUT(to, v) (to) = (v) < (to) ? (v) : (to)
#endif
// Sets the place of `index`. Returns false and sets the flag if it is out of range.
inline bool find(long index, int size, int* at, __global int* flag) {
  const long from_front = index < 0 ? index + size : index;
  *at = (int)from_front;
  if (from_front >= 0 && from_front < size) return true;
  flag_index(flag, index, size);
  return false;
}
// The walk goes over the lines of the indices. Operand 0 is the line's place in y, operand 1 in the indices.
__kernel void Elements(IN(I, index), IN(T, updates), OUT(T, y), __global int* flag, Walk w, int count,
                       int index_stride, int size, int y_stride) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= w.inner || row >= w.outer) return;
  WALK2(w, row, to, from)
  to += i * w.step[0];
  from += i * w.step[1];
  for (int k = 0; k < count; ++k) {
    int at;
    if (!find(PTR(index)[from + k * index_stride], size, &at, flag)) continue;
    PUT(PTR(y)[to + at * y_stride], PTR(updates)[from + k * index_stride]);
  }
}
__kernel void Tuples(IN(I, index), IN(T, updates), OUT(T, y), __global int* flag, Walk w, int tuples, int width,
                     int slice) {
  const int i = get_global_id(0);  // at least one work-item, so that indices are checked even if nothing is moved
  for (int t = 0; t < tuples; ++t) {
    long to = 0;
    bool inside = true;
    for (int d = 0; d < width; ++d) {
      int at;
      inside = find(PTR(index)[t * width + d], w.size[d], &at, flag) && inside;
      to += at * (long)w.stride[0][d];
    }
    if (inside && i < slice) PUT(PTR(y)[to + i], PTR(updates)[(long)t * slice + i]);
  }
}
)CL"};

int mode_of(const NodeView& n) {
  const std::string name = n.attr_s("reduction", "none");
  constexpr std::string_view kNames[] = {"none", "add", "mul", "max", "min"};
  return static_cast<int>(std::find(std::begin(kNames), std::end(kNames), name) - std::begin(kNames));
}

Support check(const NodeView& n) {
  const bool moves = mode_of(n) == 0;
  const auto wide = TypeList<float, double>() + kIntTypes;  // float16 in memory cannot be used for arithmetic
  Check check(n);
  check.input(1, kIndexTypes).attr_is("reduction", {"none", "add", "mul", "max", "min"});
  return moves ? check.input(0, kAnyTypes) : check.input(0, wide);
}

KernelRef load(const NodeView& n, std::string name) {
  const uint32_t dtype = n.input(0).dtype();
  const int mode = mode_of(n);
  const std::string type = mode == 0 && dtype == TENON_FLOAT16 ? "ushort" : std::string(cl_type(dtype));
  return load_kernel(n, kSource, cat("-DT=", type, " -DI=", cl_type(n.input(1).dtype()), " -DMODE=", mode),
                     std::move(name), kLine);
}

struct ElementsState {
  Walk walk;
  cl_int count, index_stride, size, y_stride;
};

class ScatterElements {
 public:
  static Support supports(const NodeView& n) { return check(n); }
  explicit ScatterElements(const NodeView& n)
      : axis_(n.attr_i("axis", 0)),
        is_constant_(n.input(1).is_constant()),
        copy_(n, n.input(0).dtype()),
        kernel_(load(n, "Elements")) {}
  ElementsState prepare(PrepareContext& p) const {
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
  void record(Recorder& ctx, const ElementsState& state) const {
    copy_.record_dense(ctx, ctx.input(0), ctx.output(0));
    launch(ctx, kernel_, global_of(state.walk), in(ctx.input(1)), in(ctx.input(2)), out(ctx.output(0)),
           FlagArg{}, state.walk, state.count, state.index_stride, state.size, state.y_stride);
  }

 private:
  int64_t axis_;
  bool is_constant_;
  CopyKernels copy_;
  KernelRef kernel_;
};
TENON_KERNEL(ScatterElements, .op_type = "ScatterElements", .since = 11,
             .contract = "data: rank 1..; indices: rank data @index; updates: = indices")
TENON_KERNEL(ScatterElements, .op_type = "Scatter", .since = 9,
             .contract = "data: rank 1..; indices: rank data @index; updates: = indices")

struct TupleState {
  Walk axes{};
  cl_int tuples, width, slice;
};

class ScatterND {
 public:
  static Support supports(const NodeView& n) { return check(n); }
  explicit ScatterND(const NodeView& n)
      : is_constant_(n.input(1).is_constant()), copy_(n, n.input(0).dtype()), kernel_(load(n, "Tuples")) {}
  TupleState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), index = p.input(1).dims();
    require(index.back() <= std::min<int64_t>(kMaxWalkRank, static_cast<int64_t>(x.size())),
            TENON_INVALID_ARGUMENT, "tuples of ", index, " for ", x);
    const auto width = static_cast<size_t>(index.back());
    TupleState out;
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
  void record(Recorder& ctx, const TupleState& state) const {
    copy_.record_dense(ctx, ctx.input(0), ctx.output(0));
    if (state.tuples == 0) return;
    launch(ctx, kernel_, {static_cast<size_t>(std::max(1, state.slice)), 1, 1}, in(ctx.input(1)),
           in(ctx.input(2)), out(ctx.output(0)), FlagArg{}, state.axes, state.tuples, state.width,
           state.slice);
  }

 private:
  bool is_constant_;
  CopyKernels copy_;
  KernelRef kernel_;
};
TENON_KERNEL(ScatterND, .op_type = "ScatterND", .since = 11,
             .contract = "data: rank 1..; indices: rank 1.. @index; updates: any")

}  // namespace
}  // namespace tenon::opencl
