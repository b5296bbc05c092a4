// Sum, Mean, Max and Min of any number of inputs: first of two, then of the output and each further one.
#include "kernels/common/kernel.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"variadic", R"CL(
#define VARIADIC(name, expression)                                                        \
  __kernel void name(IN(T, x), IN(T, y), OUT(T, z), Walk w, float scale) {                \
    const int i = get_global_id(0), row = get_global_id(1);                               \
    if (i >= w.inner || row >= w.outer) return;                                           \
    WALK2(w, row, at, bt)                                                                 \
    const C a = LOAD(PTR(x), at + i * w.step[0]), b = LOAD(PTR(y), bt + i * w.step[1]);   \
    STORE(PTR(z), row * w.inner + i, (C)(expression));                                    \
  }
#if IS_REAL
VARIADIC(Sum, a + b)
VARIADIC(Mean, (a + b) * (C)scale)
VARIADIC(Max, isnan(a) ? a : isnan(b) ? b : fmax(a, b))
VARIADIC(Min, isnan(a) ? a : isnan(b) ? b : fmin(a, b))
#else
VARIADIC(Max, a > b ? a : b)
VARIADIC(Min, a < b ? a : b)
#endif
)CL"};

constexpr auto kTypes = kRealTypes + kIntTypes;

class Variadic {
 public:
  static Support supports(const NodeView& n) {
    const bool any = n.op() == "Max" || n.op() == "Min";
    Check check(n);
    for (int i = 0; i < n.input_count(); ++i) check.needs_input(i);
    return any ? check.inputs(0, kTypes) : check.inputs(0, kRealTypes);
  }
  explicit Variadic(const NodeView& n) : is_mean_(n.op() == "Mean") {
    const uint32_t dtype = n.input(0).dtype();
    kernel_ =
        load_kernel(n, kSource, cat(defines_for(dtype), "-DIS_REAL=", kRealTypes.contains(dtype) ? 1 : 0),
                    n.input_count() == 1 ? "Max" : std::string(n.op()), kLine);  // Max(x, x) is a copy
    // Mean adds in all steps; the last one also divides.
    sum_ = is_mean_ && n.input_count() > 2
               ? load_kernel(n, kSource, cat(defines_for(dtype), "-DIS_REAL=1"), "Sum", kLine)
               : kernel_;
  }
  std::vector<Walk> prepare(PrepareContext& p) const {
    Dims dims;
    for (int i = 0; i < p.input_count(); ++i) dims = broadcast_dims(dims, p.input(i).dims());
    p.set_output(0, dims);
    std::vector<Walk> out;
    const Dims dense = dense_strides(dims);
    for (int i = 0; i < p.input_count(); ++i) {
      const Dims strides = broadcast_strides(p.input(i).dims(), dims);
      const Dims left = i <= 1 ? broadcast_strides(p.input(0).dims(), dims) : dense;
      if (i > 0 || p.input_count() == 1) out.push_back(make_walk(dims, {left, strides}));
    }
    return out;
  }
  void record(Recorder& ctx, const std::vector<Walk>& walks) const {
    const int count = ctx.input_count();
    const cl_float scale = 1.0f / static_cast<float>(count);
    for (size_t i = 0; i < walks.size(); ++i) {
      const bool last = i + 1 == walks.size();
      const TensorArg left = i == 0 ? in(ctx.input(0)) : in(ctx.output(0));
      const TensorArg right = in(ctx.input(count == 1 ? 0 : static_cast<int>(i) + 1));
      launch(ctx, last ? kernel_ : sum_, items_of(walks[i]), left, right, out(ctx.output(0)), walks[i],
             scale);
    }
  }

 private:
  bool is_mean_;
  KernelRef kernel_, sum_;
};
TENON_KERNEL(Variadic, .op_type = "Sum", .since = 6, .contract = "first: ~; others...: ~")
TENON_KERNEL(Variadic, .op_type = "Mean", .since = 6, .contract = "first: ~; others...: ~")
TENON_KERNEL(Variadic, .op_type = "Max", .since = 6, .contract = "first: ~; others...: ~")
TENON_KERNEL(Variadic, .op_type = "Min", .since = 6, .contract = "first: ~; others...: ~")

}  // namespace
}  // namespace tenon::opencl
