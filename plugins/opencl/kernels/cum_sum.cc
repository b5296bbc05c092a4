#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

// One work-item per line.
constexpr Source kSource{"cum_sum", R"CL(
__kernel void CumSum(IN(T, x), OUT(T, y), int outer, int count, int inner, int exclusive, int reverse) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= inner || row >= outer) return;
  C sum = 0;
  for (int k = 0; k < count; ++k) {
    const int at = (row * count + (reverse ? count - 1 - k : k)) * inner + i;
    const C v = LOAD(PTR(x), at);
    STORE(PTR(y), at, exclusive ? sum : (C)(sum + v));
    sum += v;
  }
}
)CL"};

struct Lines {
  cl_int outer, count, inner;
};

class CumSum {
 public:
  static constexpr int shape_inputs[] = {1};
  static Support supports(const NodeView& n) { return Check(n).input(0, kRealTypes + kIntTypes); }
  explicit CumSum(const NodeView& n)
      : exclusive_(static_cast<cl_int>(n.attr_i("exclusive", 0))),
        reverse_(static_cast<cl_int>(n.attr_i("reverse", 0))),
        kernel_(load_kernel(n, kSource, defines_for(n.input(0).dtype()), "CumSum", kLine)) {}
  Lines prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const Dims given = p.input(1).to_dims();
    require(given.size() == 1, TENON_INVALID_ARGUMENT, "axis is not a single number");
    const size_t axis = checked_axis(given[0], x.size());
    p.set_output(0, x);
    return {narrow(element_count(x.first(axis))), narrow(x[axis]),
            narrow(element_count(x.subspan(axis + 1)))};
  }
  void record(Recorder& ctx, const Lines& lines) const {
    if (lines.count == 0) return;
    launch(ctx, kernel_, {static_cast<size_t>(lines.inner), static_cast<size_t>(lines.outer), 1},
           in(ctx.input(0)), out(ctx.output(0)), lines.outer, lines.count, lines.inner, exclusive_, reverse_);
  }

 private:
  cl_int exclusive_, reverse_;
  KernelRef kernel_;
};
TENON_KERNEL(CumSum, .op_type = "CumSum", .since = 11, .contract = "x: rank 1..; axis: one")

}  // namespace
}  // namespace tenon::opencl
