#include "tenon/ep.hpp"

namespace tenon::cpu {
namespace {

using namespace tenon::ep;

// A missing input has no element. An input that is not an optional counts as an element.
struct OptionalHasElement {
  void prepare(PrepareContext& p) const { p.set_output(0, {}); }
  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    *ctx.output(0).data<bool>() =
        in.kind() == TENON_KIND_OPTIONAL ? ctx.input_value(0).size() == 1 : in.present();
  }
};
TENON_KERNEL(OptionalHasElement, .op_type = "OptionalHasElement", .contract = "X?: any")

}  // namespace
}  // namespace tenon::cpu
