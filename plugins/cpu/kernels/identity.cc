#include "kernels/common/movement.h"

namespace tenon::cpu {
namespace {

struct Identity {
  void prepare(PrepareContext& p) const {
    if (p.input(0).kind() != TENON_KIND_TENSOR) return;
    p.set_output(0, p.input(0).dims());
    if (p.input(0).dtype() != TENON_STRING) p.view(0, 0);
  }
  void run(const Context& ctx) const {
    if (ctx.input(0).kind() != TENON_KIND_TENSOR) return ctx.set_object(0, ctx.input_value(0));
    copy_or_view(ctx, 0, 0);
  }
};
TENON_KERNEL(Identity, .op_type = "Identity", .contract = "input: any")

}  // namespace
}  // namespace tenon::cpu
