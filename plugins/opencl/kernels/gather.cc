// Gather, GatherElements and GatherND. Negative indices count from the end. An index out of range is an error
// in prepare() if the indices are constant, otherwise when the host waits for the work.
#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"gather", R"CL(
__kernel void Gather(IN(M, x), IN(I, index), OUT(M, y), __global int* flag, int outer, int size, int inner, int count) {
  const int i = get_global_id(0), k = get_global_id(1), row = get_global_id(2);
  if (k >= count) return;
  const int at = place_of(PTR(index)[k], size, flag);  // checked even if no elements are moved
  if (i >= inner || row >= outer) return;
  PTR(y)[((long)row * count + k) * inner + i] = PTR(x)[((long)row * size + at) * inner + i];
}
// The walk gives the place in x for index 0.
__kernel void GatherElements(IN(M, x), IN(I, index), OUT(M, y), __global int* flag, Walk w, int size, int stride) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= w.inner || row >= w.outer) return;
  WALK1(w, row, from)
  const int at = row * w.inner + i;
  PTR(y)[at] = PTR(x)[from + i * w.step[0] + place_of(PTR(index)[at], size, flag) * stride];
}
// The walk's rows are the dimensions of x that a tuple of indices addresses.
__kernel void GatherND(IN(M, x), IN(I, index), OUT(M, y), __global int* flag, Walk w, int tuples, int width, int slice,
                       int per_batch, int batch_stride) {
  const int i = get_global_id(0), t = get_global_id(1);
  if (t >= tuples) return;
  long from = (long)(t / per_batch) * batch_stride;
  for (int d = 0; d < width; ++d) from += place_of(PTR(index)[t * width + d], w.size[d], flag) * (long)w.stride[0][d];
  if (i >= slice) return;
  PTR(y)[(long)t * slice + i] = PTR(x)[from + i];
}
)CL"};

KernelRef load(const NodeView& n) {
  const std::string defines = cat(defines_to_move(n.input(0).dtype()), "-DI=", cl_type(n.input(1).dtype()));
  return load_kernel(n, kSource, defines, std::string(n.op()), kLine);
}

Support check(const NodeView& n) { return Check(n).input(0, kAnyTypes).input(1, kIndexTypes); }

bool has_constant_indices(const NodeView& n) { return n.input(1).is_constant(); }

void require_rows(int64_t size, int64_t wanted) {
  require(size > 0 || wanted == 0, TENON_OUT_OF_RANGE, "an axis without elements cannot be indexed");
}

struct GatherState {
  cl_int outer, size, inner, count;
};

class Gather {
 public:
  static Support supports(const NodeView& n) { return check(n); }
  explicit Gather(const NodeView& n)
      : axis_(n.attr_i("axis", 0)), is_constant_(has_constant_indices(n)), kernel_(load(n)) {}
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
  void record(Recorder& ctx, const GatherState& p) const {
    launch(ctx, kernel_,
           {static_cast<size_t>(std::max(1, p.inner)), static_cast<size_t>(p.count),
            static_cast<size_t>(std::max(1, p.outer))},
           in(ctx.input(0)), in(ctx.input(1)), out(ctx.output(0)), FlagArg{}, p.outer, p.size, p.inner,
           p.count);
  }

 private:
  int64_t axis_;
  bool is_constant_;
  KernelRef kernel_;
};
TENON_KERNEL(Gather, .op_type = "Gather", .since = 1, .contract = "data: rank 1..; indices: any @index")

struct ElementsState {
  Walk walk;
  cl_int size, stride;
};

class GatherElements {
 public:
  static Support supports(const NodeView& n) { return check(n); }
  explicit GatherElements(const NodeView& n)
      : axis_(n.attr_i("axis", 0)), is_constant_(has_constant_indices(n)), kernel_(load(n)) {}
  ElementsState prepare(PrepareContext& p) const {
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
  void record(Recorder& ctx, const ElementsState& state) const {
    launch(ctx, kernel_, global_of(state.walk), in(ctx.input(0)), in(ctx.input(1)), out(ctx.output(0)),
           FlagArg{}, state.walk, state.size, state.stride);
  }

 private:
  int64_t axis_;
  bool is_constant_;
  KernelRef kernel_;
};
TENON_KERNEL(GatherElements, .op_type = "GatherElements", .since = 11,
             .contract = "data: rank 1..; indices: rank data @index")

struct TupleState {
  Walk axes{};
  cl_int tuples, width, slice, per_batch, batch_stride;
};

class GatherND {
 public:
  static Support supports(const NodeView& n) { return check(n); }
  explicit GatherND(const NodeView& n)
      : batch_dims_(n.attr_i("batch_dims", 0)), is_constant_(has_constant_indices(n)), kernel_(load(n)) {}
  TupleState prepare(PrepareContext& p) const {
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
    TupleState out;
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
  void record(Recorder& ctx, const TupleState& state) const {
    launch(ctx, kernel_,
           {static_cast<size_t>(std::max(1, state.slice)), static_cast<size_t>(state.tuples), 1},
           in(ctx.input(0)), in(ctx.input(1)), out(ctx.output(0)), FlagArg{}, state.axes, state.tuples,
           state.width, state.slice, state.per_batch, state.batch_stride);
  }

 private:
  int64_t batch_dims_;
  bool is_constant_;
  KernelRef kernel_;
};
TENON_KERNEL(GatherND, .op_type = "GatherND", .since = 11,
             .contract = "data: rank 1..; indices: rank 1.. @index")

}  // namespace
}  // namespace tenon::opencl
