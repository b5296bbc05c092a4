#include "kernels/common/dynamic_quantize.h"

namespace tenon::cpu {
namespace {

// uint8, with scale and zero point from the range of the input, widened to include 0.
struct DynamicQuantizeLinear {
  static Support supports(const NodeView& n) { return Check(n).input(0, TypeList<float>()); }
  void prepare(PrepareContext& p) const {
    p.set_output(0, p.input(0).dims());
    p.set_output(1, {});
    p.set_output(2, {});
  }
  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    const DynamicScale by = dynamic_scale(ctx, x.data<float>(), x.size());
    if (ctx.has_output(0)) quantize_bytes(ctx, x.data<float>(), x.size(), by, ctx.output(0).data<uint8_t>());
    if (ctx.has_output(1)) *ctx.output(1).data<float>() = by.scale;
    if (ctx.has_output(2)) *ctx.output(2).data<uint8_t>() = static_cast<uint8_t>(by.zero);
  }
};

TENON_KERNEL(DynamicQuantizeLinear, .op_type = "DynamicQuantizeLinear", .since = 11, .contract = "x: any")

}  // namespace
}  // namespace tenon::cpu
