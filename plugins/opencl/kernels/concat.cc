#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

class Concat {
 public:
  static Support supports(const NodeView& n) { return Check(n).inputs(0, kAnyTypes); }
  explicit Concat(const NodeView& n) : axis_(n.attr_i("axis", 1)), copy_(n, n.input(0).dtype()) {}
  std::vector<StridedCopy> prepare(PrepareContext& p) const {
    const DimsView first = p.input(0).dims();
    const size_t axis = checked_axis(axis_, first.size());
    Dims dims(first.begin(), first.end());
    dims[axis] = 0;
    for (int i = 0; i < p.input_count(); ++i) {
      const DimsView x = p.input(i).dims();
      require(x.size() == dims.size(), TENON_INVALID_ARGUMENT, "inputs of ranks ", dims.size(), " and ",
              x.size());
      for (size_t d = 0; d < dims.size(); ++d)
        require(d == axis || x[d] == dims[d], TENON_INVALID_ARGUMENT, "the shapes ", first, " and ", x,
                " cannot be joined at axis ", axis_);
      dims[axis] += x[axis];
    }
    p.set_output(0, dims);
    std::vector<StridedCopy> out;
    const Dims y_strides = dense_strides(dims);
    int64_t at = 0;
    for (int i = 0; i < p.input_count(); ++i) {
      const DimsView x = p.input(i).dims();
      out.push_back({make_walk(x, {dense_strides(x), y_strides}), 0, narrow(at * y_strides[axis])});
      at += x[axis];
    }
    return out;
  }
  void record(Recorder& ctx, const std::vector<StridedCopy>& copies) const {
    for (size_t i = 0; i < copies.size(); ++i)
      copy_.record(ctx, copies[i], in(ctx.input(static_cast<int>(i))), out(ctx.output(0)));
  }

 private:
  int64_t axis_;
  CopyKernels copy_;
};
TENON_KERNEL(Concat, .op_type = "Concat", .since = 1, .contract = "first: rank 1..; others...: rank first")

}  // namespace
}  // namespace tenon::opencl
