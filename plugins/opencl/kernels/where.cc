#include "kernels/common/kernel.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"where", R"CL(
__kernel void Where(IN(uchar, c), IN(M, x), IN(M, y), OUT(M, z), Walk w) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= w.inner || row >= w.outer) return;
  WALK3(w, row, ct, xt, yt)
  const bool first = PTR(c)[ct + i * w.step[0]];
  PTR(z)[row * w.inner + i] = first ? PTR(x)[xt + i * w.step[1]] : PTR(y)[yt + i * w.step[2]];
}
)CL"};

class Where {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kBoolType).inputs(1, kAnyTypes); }
  explicit Where(const NodeView& n)
      : kernel_(load_kernel(n, kSource, defines_to_move(n.input(1).dtype()), "Where", kLine)) {}
  Walk prepare(PrepareContext& p) const {
    const DimsView c = p.input(0).dims(), x = p.input(1).dims(), y = p.input(2).dims();
    const Dims dims = broadcast_dims(broadcast_dims(c, x), y);
    p.set_output(0, dims);
    return make_walk(dims,
                     {broadcast_strides(c, dims), broadcast_strides(x, dims), broadcast_strides(y, dims)});
  }
  void record(Recorder& ctx, const Walk& walk) const {
    launch(ctx, kernel_, items_of(walk), in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)),
           out(ctx.output(0)), walk);
  }

 private:
  KernelRef kernel_;
};
TENON_KERNEL(Where, .op_type = "Where", .since = 9, .contract = "condition: ~; X: ~; Y: ~")

}  // namespace
}  // namespace tenon::opencl
