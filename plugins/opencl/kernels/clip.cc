#include "kernels/common/kernel.h"

namespace tenon::opencl {
namespace {

// The limits are scalars in the device's memory and may differ in each run.
constexpr Source kSource{"clip", R"CL(
__kernel void Clip(IN(T, x), IN(T, low), IN(T, high), OUT(T, y), int n, int has_low, int has_high) {
  const int i = get_global_id(0);
  if (i >= n) return;
  C v = LOAD(PTR(x), i);
  if (has_low) {
    const C limit = LOAD(PTR(low), 0);
    v = v < limit ? limit : v;
  }
  if (has_high) {
    const C limit = LOAD(PTR(high), 0);
    v = v > limit ? limit : v;
  }
  STORE(PTR(y), i, v);
}
__kernel void ClipTo(IN(T, x), OUT(T, y), int n, float low, float high) {
  const int i = get_global_id(0);
  if (i >= n) return;
  C v = LOAD(PTR(x), i);
  v = v < (C)low ? (C)low : v;
  STORE(PTR(y), i, v > (C)high ? (C)high : v);
}
)CL"};

constexpr auto kTypes = kRealTypes + kIntTypes;

class Clip {
 public:
  static Support supports(const NodeView& n) { return Check(n).inputs(0, kTypes); }
  explicit Clip(const NodeView& n)
      : kernel_(load_kernel(n, kSource, defines_for(n.input(0).dtype()), "Clip", kLine)) {}
  void prepare(PrepareContext& p) const {
    p.set_output(0, p.input(0).dims());
    p.may_overwrite(0, 0);
  }
  void record(Recorder& ctx) const {
    const int64_t n = ctx.input(0).size();
    launch(ctx, kernel_, {static_cast<size_t>(n), 1, 1}, in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)),
           out(ctx.output(0)), narrow(n), cl_int{ctx.has_input(1)}, cl_int{ctx.has_input(2)});
  }

 private:
  KernelRef kernel_;
};
TENON_KERNEL(Clip, .op_type = "Clip", .since = 11, .contract = "input: any; min?: one; max?: one")

class Clip6 {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kRealTypes); }
  explicit Clip6(const NodeView& n)
      : low_(n.attr_f("min", std::numeric_limits<float>::lowest())),
        high_(n.attr_f("max", std::numeric_limits<float>::max())),
        kernel_(load_kernel(n, kSource, defines_for(n.input(0).dtype()), "ClipTo", kLine)) {}
  void prepare(PrepareContext& p) const {
    p.set_output(0, p.input(0).dims());
    p.may_overwrite(0, 0);
  }
  void record(Recorder& ctx) const {
    const int64_t n = ctx.input(0).size();
    launch(ctx, kernel_, {static_cast<size_t>(n), 1, 1}, in(ctx.input(0)), out(ctx.output(0)), narrow(n),
           cl_float{low_}, cl_float{high_});
  }

 private:
  float low_, high_;
  KernelRef kernel_;
};
TENON_KERNEL(Clip6, .op_type = "Clip", .since = 1, .until = 10, .contract = "input: any")

}  // namespace
}  // namespace tenon::opencl
