#include "tenon/ep.hpp"

namespace tenon::cpu {
namespace {

using namespace tenon::ep;

// Wraps its input, or is empty without one.
struct Optional {
  void prepare(PrepareContext&) const {}
  void run(const Context& ctx) const {
    if (!ctx.has_input(0)) return ctx.set_object(0, ValueRef());
    const ValueRef element = ctx.input_value(0);
    ctx.set_object(0, make_value(TENON_KIND_OPTIONAL, ctx.input(0).dtype(), {&element, 1}));
  }
};
TENON_KERNEL(Optional, .op_type = "Optional", .contract = "X?: any")

}  // namespace
}  // namespace tenon::cpu
