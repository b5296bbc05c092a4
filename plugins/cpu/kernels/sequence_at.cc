#include "kernels/common/sequence.h"

namespace tenon::cpu {
namespace {

struct SequenceAt {
  void prepare(PrepareContext& p) const { p.set_at_run(0); }
  void run(const Context& ctx) const {
    const ValueRef sequence = ctx.input_value(0);
    const ValueRef element = sequence.element(sequence_position(ctx.input(1), sequence.size()));
    const tenon_tensor tensor = element.tensor();
    give_tensor(ctx, 0, TensorView(&tensor));
  }
};
TENON_KERNEL(SequenceAt, .op_type = "SequenceAt", .contract = "S: any; position: one @index")

}  // namespace
}  // namespace tenon::cpu
