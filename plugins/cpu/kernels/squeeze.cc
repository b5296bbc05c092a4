#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

// Squeeze, Unsqueeze and Flatten: the same bytes in the shape that the host inferred.
struct NewShape {
  void prepare(PrepareContext& ctx) const {
    require(!ctx.knows_output(0) || element_count(ctx.output(0)) == ctx.input(0).size(),
            TENON_INVALID_ARGUMENT, "an input of shape ", ctx.input(0).dims(), " cannot be reshaped to ",
            ctx.output(0));
    if (ctx.input(0).dtype() != TENON_STRING) ctx.view(0, 0);
  }
  void run(const Context& ctx) const { copy_or_view(ctx, 0, 0); }
};

// Squeeze and Unsqueeze since version 13: the axes are an input.
struct NewShapeByAxes : NewShape {
  static constexpr int shape_inputs[] = {1};
};

using SqueezeAttribute = NewShape;
using UnsqueezeAttribute = NewShape;
using Flatten = NewShape;
using Squeeze = NewShapeByAxes;
using Unsqueeze = NewShapeByAxes;

TENON_KERNEL(SqueezeAttribute, .op_type = "Squeeze", .since = 1, .until = 12, .contract = "data: any")
TENON_KERNEL(Squeeze, .op_type = "Squeeze", .since = 13, .contract = "data: any; axes?: [] | [?]")
TENON_KERNEL(UnsqueezeAttribute, .op_type = "Unsqueeze", .since = 1, .until = 12, .contract = "data: any")
TENON_KERNEL(Unsqueeze, .op_type = "Unsqueeze", .since = 13, .contract = "data: any; axes: [] | [?]")
TENON_KERNEL(Flatten, .op_type = "Flatten", .since = 1, .contract = "data: any")

}  // namespace
}  // namespace tenon::cpu
