#include "kernels/common/movement.h"

namespace tenon::cpu {
namespace {

struct BitCast {
  static Support supports(const NodeView& n) {
    const auto to = static_cast<uint32_t>(n.attr_i("to"));
    const uint32_t from = n.input(0).dtype();
    return Check(n).that(dtype_bits(from) != 0 && dtype_bits(from) == dtype_bits(to), TENON_REJECT_TYPE,
                         "from ", dtype_name(from), " to ", dtype_name(to));
  }
  void prepare(PrepareContext& p) const {
    p.set_output(0, p.input(0).dims());
    p.view(0, 0);
  }
  void run(const Context& ctx) const { copy_or_view(ctx, 0, 0); }
};
TENON_KERNEL(BitCast, .op_type = "BitCast", .since = 26, .contract = "input: any")

}  // namespace
}  // namespace tenon::cpu
