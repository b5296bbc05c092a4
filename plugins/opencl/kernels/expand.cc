#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

class Expand {
 public:
  static constexpr int shape_inputs[] = {1};
  static Support supports(const NodeView& n) { return Check(n).input(0, kAnyTypes); }
  explicit Expand(const NodeView& n) : copy_(n, n.input(0).dtype()) {}
  StridedCopy prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const Dims dims = broadcast_dims(x, p.input(1).to_dims());
    p.set_output(0, dims);
    return gather_copy(dims, broadcast_strides(x, dims));
  }
  void record(Recorder& ctx, const StridedCopy& copy) const {
    copy_.record(ctx, copy, in(ctx.input(0)), out(ctx.output(0)));
  }

 private:
  CopyKernels copy_;
};
TENON_KERNEL(Expand, .op_type = "Expand", .since = 8, .contract = "input: any; shape: [?] @size")

}  // namespace
}  // namespace tenon::opencl
