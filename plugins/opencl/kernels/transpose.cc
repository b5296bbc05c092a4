#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

Dims permuted(DimsView from, const std::vector<int64_t>& order) {
  Dims out;
  for (const int64_t axis : order) out.push_back(from[checked_axis(axis, from.size())]);
  return out;
}

class Transpose {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kAnyTypes); }
  explicit Transpose(const NodeView& n)
      : order_(n.attr_ints("perm")), is_given_(n.has_attr("perm")), copy_(n, n.input(0).dtype()) {}
  StridedCopy prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    std::vector<int64_t> order = order_;
    for (size_t d = x.size(); d-- > 0 && !is_given_;) order.push_back(static_cast<int64_t>(d));
    require(order.size() == x.size(), TENON_INVALID_ARGUMENT, "perm has ", order.size(), " axes for rank ",
            x.size());
    std::vector<bool> seen(x.size(), false);
    for (const int64_t axis : order) {
      const size_t at = checked_axis(axis, x.size());
      require(!seen[at], TENON_INVALID_ARGUMENT, "perm names axis ", axis, " twice");
      seen[at] = true;
    }
    const Dims dims = permuted(x, order);
    p.set_output(0, dims);
    return gather_copy(dims, permuted(dense_strides(x), order));
  }
  void record(Recorder& ctx, const StridedCopy& copy) const {
    copy_.record(ctx, copy, in(ctx.input(0)), out(ctx.output(0)));
  }

 private:
  std::vector<int64_t> order_;
  bool is_given_;
  CopyKernels copy_;
};
TENON_KERNEL(Transpose, .op_type = "Transpose", .since = 1, .contract = "data: any")

}  // namespace
}  // namespace tenon::opencl
