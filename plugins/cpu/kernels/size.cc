#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

struct Size {
  void run(const Context& ctx) const { *ctx.output(0).data<int64_t>() = ctx.input(0).size(); }
};

TENON_KERNEL(Size, .op_type = "Size", .since = 1, .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
