// Reductions over any axes, and ArgMax and ArgMin over one. Each work-item computes one output element.
#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

// `kept` goes over the outputs, `reduced` over the elements of one output. Operand 0 of both is x.
constexpr Source kSource{"reduce", R"CL(
#define REDUCE(name, start, each, end)                                            \
  __kernel void name(IN(T, x), OUT(T, y), Walk kept, Walk reduced, int count) {   \
    const int i = get_global_id(0), row = get_global_id(1);                       \
    if (i >= kept.inner || row >= kept.outer) return;                             \
    WALK1(kept, row, from)                                                        \
    from += i * kept.step[0];                                                     \
    C s = start;                                                                  \
    for (int r = 0; r < reduced.outer; ++r) {                                     \
      WALK1(reduced, r, at)                                                       \
      for (int k = 0; k < reduced.inner; ++k) {                                   \
        const C v = LOAD(PTR(x), from + at + k * reduced.step[0]);                \
        each;                                                                     \
      }                                                                           \
    }                                                                             \
    STORE(PTR(y), row * kept.inner + i, (C)(end));                                \
  }
REDUCE(ReduceSum, 0, s += v, s)
REDUCE(ReduceSumSquare, 0, s += v * v, s)
REDUCE(ReduceProd, 1, s *= v, s)
#if IS_REAL
REDUCE(ReduceMean, 0, s += v, s / (C)count)
REDUCE(ReduceL1, 0, s += fabs(v), s)
REDUCE(ReduceL2, 0, s += v * v, sqrt(s))
REDUCE(ReduceLogSum, 0, s += v, log(s))
REDUCE(ReduceMax, -INFINITY, s = isnan(s) ? s : isnan(v) ? v : fmax(s, v), s)
REDUCE(ReduceMin, INFINITY, s = isnan(s) ? s : isnan(v) ? v : fmin(s, v), s)
__kernel void ReduceLogSumExp(IN(T, x), OUT(T, y), Walk kept, Walk reduced, int count) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= kept.inner || row >= kept.outer) return;
  WALK1(kept, row, from)
  from += i * kept.step[0];
  C top = -INFINITY, s = 0;
  for (int r = 0; r < reduced.outer; ++r) {
    WALK1(reduced, r, at)
    for (int k = 0; k < reduced.inner; ++k) top = fmax(top, LOAD(PTR(x), from + at + k * reduced.step[0]));
  }
  const C base = isinf(top) ? (C)0 : top;
  for (int r = 0; r < reduced.outer; ++r) {
    WALK1(reduced, r, at)
    for (int k = 0; k < reduced.inner; ++k) s += exp(LOAD(PTR(x), from + at + k * reduced.step[0]) - base);
  }
  STORE(PTR(y), row * kept.inner + i, base + log(s));
}
#else
REDUCE(ReduceMean, 0, s += v, count == 0 ? 0 : s / count)
REDUCE(ReduceL1, 0, s += v < 0 ? -v : v, s)
REDUCE(ReduceMax, LOWEST, s = s > v ? s : v, s)
REDUCE(ReduceMin, HIGHEST, s = s < v ? s : v, s)
#endif
// NaN counts as the largest and the smallest number. The first one wins.
#if IS_REAL
#define BEATS(a, op, b) (!isnan(b) && (isnan(a) || (a) op (b)))
#else
#define BEATS(a, op, b) ((a) op (b))
#endif
#define ARG(name, op)                                                                        \
  __kernel void name(IN(T, x), OUT(long, y), Walk kept, int count, int stride, int last) {   \
    const int i = get_global_id(0), row = get_global_id(1);                                  \
    if (i >= kept.inner || row >= kept.outer) return;                                        \
    WALK1(kept, row, from)                                                                   \
    from += i * kept.step[0];                                                                \
    int best = 0;                                                                            \
    C s = LOAD(PTR(x), from);                                                                \
    for (int k = 1; k < count; ++k) {                                                        \
      const C v = LOAD(PTR(x), from + k * stride);                                           \
      if (BEATS(v, op, s) || (last && !BEATS(s, op, v))) {                                   \
        s = v;                                                                               \
        best = k;                                                                            \
      }                                                                                      \
    }                                                                                        \
    PTR(y)[row * kept.inner + i] = best;                                                     \
  }
ARG(ArgMax, >)
ARG(ArgMin, <)
)CL"};

std::string limits(uint32_t dtype) {
  if (kRealTypes.contains(dtype)) return "";
  if (dtype == TENON_BOOL) return "-DLOWEST=0 -DHIGHEST=1";
  const std::string bits = std::to_string(dtype_bits(dtype) - 1);
  if (kUnsignedIntTypes.contains(dtype)) return "-DLOWEST=0 -DHIGHEST=((C)~(C)0)";
  return cat("-DLOWEST=((C)(1UL<<", bits, ")) -DHIGHEST=((C)((1UL<<", bits, ")-1))");
}

std::string defines(uint32_t dtype) {
  return cat(defines_for(dtype), "-DIS_REAL=", kRealTypes.contains(dtype) ? 1 : 0, " ", limits(dtype));
}

/// The axes of x that are kept and those that are reduced.
struct Axes {
  Dims kept_dims, kept_strides, reduced_dims, reduced_strides, output;
};

Axes part(DimsView x, const std::vector<bool>& goes, bool keep) {
  Axes out;
  const Dims dense = dense_strides(x);
  for (size_t d = 0; d < x.size(); ++d) {
    (goes[d] ? out.reduced_dims : out.kept_dims).push_back(x[d]);
    (goes[d] ? out.reduced_strides : out.kept_strides).push_back(dense[d]);
    if (!goes[d]) out.output.push_back(x[d]);
    if (goes[d] && keep) out.output.push_back(1);
  }
  return out;
}

struct State {
  Walk kept, reduced;
  cl_int count;
};

class Reduce {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    const bool real_only = n.op() == "ReduceL2" || n.op() == "ReduceLogSum" || n.op() == "ReduceLogSumExp";
    if (real_only) return check.input(0, kRealTypes);
    if (n.op() == "ReduceMax" || n.op() == "ReduceMin")
      return check.input(0, kRealTypes + kIntTypes + kBoolType);
    return check.input(0, kRealTypes + kIntTypes);
  }
  static std::vector<int> shape_inputs(const NodeView& n) {
    return n.input_count() > 1 ? std::vector<int>{1} : std::vector<int>{};
  }
  explicit Reduce(const NodeView& n)
      : axes_(n.attr_ints("axes")),
        keep_(n.attr_i("keepdims", 1) != 0),
        noop_(n.attr_i("noop_with_empty_axes", 0) != 0),
        kernel_(load_kernel(n, kSource, defines(n.input(0).dtype()), std::string(n.op()), kLine)) {}

  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const std::vector<int64_t> axes = axes_of(p, 1, axes_);
    std::vector<bool> goes(x.size(), axes.empty() && !noop_);
    for (const size_t axis : checked_axes(axes, x.size())) goes[axis] = true;
    const Axes a = part(x, goes, keep_);
    p.set_output(0, a.output);
    return {make_walk(a.kept_dims, {a.kept_strides}), make_walk(a.reduced_dims, {a.reduced_strides}),
            narrow(element_count(a.reduced_dims))};
  }
  void record(Recorder& ctx, const State& state) const {
    launch(ctx, kernel_, global_of(state.kept), in(ctx.input(0)), out(ctx.output(0)), state.kept,
           state.reduced, state.count);
  }

 private:
  std::vector<int64_t> axes_;
  bool keep_, noop_;
  KernelRef kernel_;
};
TENON_KERNEL(Reduce, .op_type = "ReduceSum", .since = 1, .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(Reduce, .op_type = "ReduceSumSquare", .since = 1, .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(Reduce, .op_type = "ReduceMean", .since = 1, .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(Reduce, .op_type = "ReduceProd", .since = 1, .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(Reduce, .op_type = "ReduceMax", .since = 1, .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(Reduce, .op_type = "ReduceMin", .since = 1, .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(Reduce, .op_type = "ReduceL1", .since = 1, .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(Reduce, .op_type = "ReduceL2", .since = 1, .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(Reduce, .op_type = "ReduceLogSum", .since = 1, .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(Reduce, .op_type = "ReduceLogSumExp", .since = 1, .contract = "data: any; axes?: rank 0..1")

struct ArgState {
  Walk kept;
  cl_int count, stride;
};

class Arg {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kRealTypes + kIntTypes); }
  explicit Arg(const NodeView& n)
      : axis_(n.attr_i("axis", 0)),
        keep_(n.attr_i("keepdims", 1) != 0),
        last_(n.attr_i("select_last_index", 0) != 0),
        kernel_(load_kernel(n, kSource, defines(n.input(0).dtype()), std::string(n.op()), kLine)) {}
  ArgState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const size_t axis = checked_axis(axis_, x.size());
    std::vector<bool> goes(x.size(), false);
    goes[axis] = true;
    const Axes a = part(x, goes, keep_);
    p.set_output(0, a.output);
    require(x[axis] > 0 || element_count(a.output) == 0, TENON_INVALID_ARGUMENT,
            "an axis without elements has no maximum or minimum");
    return {make_walk(a.kept_dims, {a.kept_strides}), narrow(x[axis]), narrow(dense_strides(x)[axis])};
  }
  void record(Recorder& ctx, const ArgState& state) const {
    launch(ctx, kernel_, global_of(state.kept), in(ctx.input(0)), out(ctx.output(0)), state.kept, state.count,
           state.stride, cl_int{last_});
  }

 private:
  int64_t axis_;
  bool keep_, last_;
  KernelRef kernel_;
};
TENON_KERNEL(Arg, .op_type = "ArgMax", .since = 1, .contract = "data: rank 1..")
TENON_KERNEL(Arg, .op_type = "ArgMin", .since = 1, .contract = "data: rank 1..")

}  // namespace
}  // namespace tenon::opencl
