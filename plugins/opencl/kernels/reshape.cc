// Operators that give the same bytes another shape: views where the host can, else copies on the device. Their
// shapes are found by the host's inference.
#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

class View {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kAnyTypes)
        .that(n.output_count() == 1, TENON_REJECT_OTHER, "more than one output");
  }
  static std::vector<int> shape_inputs(const NodeView& n) {
    return n.input_count() > 1 ? std::vector<int>{1} : std::vector<int>{};
  }
  explicit View(const NodeView& n) : copy_(n, n.input(0).dtype()) {}
  void prepare(PrepareContext& p) const {
    require(element_count(output_dims(p, 0)) == p.input(0).size(), TENON_INVALID_ARGUMENT, "the shape ",
            p.input(0).dims(), " cannot take the shape ", p.output(0));
    p.view(0, 0);
  }
  void run(const Context& ctx) const { copy_.record_dense(ctx, ctx.input(0), ctx.output(0)); }

 private:
  CopyKernels copy_;
};

class Identity : public View {
 public:
  using View::View;
  static std::vector<int> shape_inputs(const NodeView&) { return {}; }
};

TENON_KERNEL(Identity, .op_type = "Identity", .since = 1, .contract = "input: any")
TENON_KERNEL(View, .op_type = "Reshape", .since = 1, .until = 4, .contract = "data: any")
TENON_KERNEL(View, .op_type = "Reshape", .since = 5, .contract = "data: any; shape: [?]")
TENON_KERNEL(View, .op_type = "Flatten", .since = 1, .contract = "input: any")
TENON_KERNEL(View, .op_type = "Squeeze", .since = 1, .contract = "data: any; axes?: [?]")
TENON_KERNEL(View, .op_type = "Unsqueeze", .since = 1, .until = 12, .contract = "data: any")
TENON_KERNEL(View, .op_type = "Unsqueeze", .since = 13, .contract = "data: any; axes: [?]")

}  // namespace
}  // namespace tenon::opencl
