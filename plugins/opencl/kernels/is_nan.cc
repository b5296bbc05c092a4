// IsNaN and IsInf.
#include "kernels/common/kernel.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"is_nan", R"CL(
__kernel void IsNaN(IN(T, x), OUT(uchar, y), int n, int negative, int positive) {
  const int i = get_global_id(0);
  if (i < n) PTR(y)[i] = isnan(LOAD(PTR(x), i)) != 0;
}
__kernel void IsInf(IN(T, x), OUT(uchar, y), int n, int negative, int positive) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const C v = LOAD(PTR(x), i);
  PTR(y)[i] = (positive && v == INFINITY) || (negative && v == -INFINITY);
}
)CL"};

class IsSpecial {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kRealTypes); }
  explicit IsSpecial(const NodeView& n)
      : negative_(static_cast<cl_int>(n.attr_i("detect_negative", 1))),
        positive_(static_cast<cl_int>(n.attr_i("detect_positive", 1))),
        kernel_(load_kernel(n, kSource, defines_for(n.input(0).dtype()), std::string(n.op()), kLine)) {}
  void prepare(PrepareContext& p) const { p.set_output(0, p.input(0).dims()); }
  void record(Recorder& ctx) const {
    const int64_t n = ctx.input(0).size();
    launch(ctx, kernel_, {static_cast<size_t>(n), 1, 1}, in(ctx.input(0)), out(ctx.output(0)), narrow(n),
           negative_, positive_);
  }

 private:
  cl_int negative_, positive_;
  KernelRef kernel_;
};
TENON_KERNEL(IsSpecial, .op_type = "IsNaN", .since = 9, .contract = "X: any")
TENON_KERNEL(IsSpecial, .op_type = "IsInf", .since = 10, .contract = "X: any")

}  // namespace
}  // namespace tenon::opencl
