#include "kernels/common/kernel.h"

namespace tenon::opencl {
namespace {

// C rounds towards zero, as ONNX does. Numbers outside an integer's range depend on the device. Bool is true
// for numbers other than zero.
constexpr Source kSource{"cast", R"CL(
__kernel void Cast(IN(T, x), OUT(R, y), int n) {
  const int i = get_global_id(0);
  if (i >= n) return;
#if TO_BOOL
  STORE_R(PTR(y), i, LOAD(PTR(x), i) != 0);
#else
  STORE_R(PTR(y), i, (C_R)CONVERT(LOAD(PTR(x), i)));
#endif
}
)CL"};

class Cast {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kAnyTypes).output(0, kAnyTypes); }
  explicit Cast(const NodeView& n) {
    const uint32_t from = n.input(0).dtype(), to = n.output(0).dtype();
    // Through a 64-bit integer, numbers that are too large wrap as on the CPU, instead of being undefined.
    const bool wraps = kRealTypes.contains(from) && !kRealTypes.contains(to) && dtype_bits(to) < 64;
    kernel_ = load_kernel(n, kSource,
                          cat(defines_for(from), defines_for(to, "R"), "-DTO_BOOL=", to == TENON_BOOL ? 1 : 0,
                              " -DCONVERT=", wraps ? "(long)" : ""),
                          "Cast", kLine);
  }
  void prepare(PrepareContext& p) const { p.set_output(0, p.input(0).dims()); }
  void record(Recorder& ctx) const {
    const int64_t n = ctx.input(0).size();
    launch(ctx, kernel_, {static_cast<size_t>(n), 1, 1}, in(ctx.input(0)), out(ctx.output(0)), narrow(n));
  }

 private:
  KernelRef kernel_;
};
TENON_KERNEL(Cast, .op_type = "Cast", .since = 6, .contract = "input: any")
TENON_KERNEL(Cast, .op_type = "CastLike", .since = 15, .contract = "input: any; target_type: any")

}  // namespace
}  // namespace tenon::opencl
