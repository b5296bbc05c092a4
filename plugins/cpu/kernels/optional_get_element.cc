#include "kernels/common/sequence.h"

namespace tenon::cpu {
namespace {

// Since version 18 the input may be the element itself instead of an optional.
class OptionalGetElement {
 public:
  explicit OptionalGetElement(const NodeView& n) : gives_tensor_(n.output(0).kind() == TENON_KIND_TENSOR) {}

  void prepare(PrepareContext& p) const {
    if (gives_tensor_) p.set_at_run(0);
  }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    if (in.kind() == TENON_KIND_TENSOR) return give_tensor(ctx, 0, in);
    ValueRef value = ctx.input_value(0);
    if (in.kind() == TENON_KIND_OPTIONAL) {
      require(value.size() == 1, TENON_INVALID_ARGUMENT, "the optional is empty");
      value = value.element(0);
    }
    if (!gives_tensor_) return ctx.set_object(0, std::move(value));
    const tenon_tensor tensor = value.tensor();
    give_tensor(ctx, 0, TensorView(&tensor));
  }

 private:
  bool gives_tensor_;
};
TENON_KERNEL(OptionalGetElement, .op_type = "OptionalGetElement", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
