#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

class Split {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kAnyTypes); }
  static std::vector<int> shape_inputs(const NodeView& n) {
    return n.input_count() > 1 ? std::vector<int>{1} : std::vector<int>{};
  }
  explicit Split(const NodeView& n)
      : axis_(n.attr_i("axis", 0)), sizes_(n.attr_ints("split")), copy_(n, n.input(0).dtype()) {}

  std::vector<StridedCopy> prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const size_t axis = checked_axis(axis_, x.size());
    const std::vector<int64_t> sizes = sizes_of(p, x[axis]);
    const Dims strides = dense_strides(x);
    std::vector<StridedCopy> out;
    int64_t at = 0;
    for (int i = 0; i < p.output_count(); ++i) {
      Dims dims(x.begin(), x.end());
      dims[axis] = sizes[static_cast<size_t>(i)];
      p.set_output(i, dims);
      const int64_t start = dims[axis] == 0 ? 0 : at * strides[axis];
      out.push_back(gather_copy(dims, strides, start));
      at += dims[axis];
    }
    return out;
  }
  void record(Recorder& ctx, const std::vector<StridedCopy>& copies) const {
    for (int i = 0; i < ctx.output_count(); ++i) {
      if (ctx.has_output(i))
        copy_.record(ctx, copies[static_cast<size_t>(i)], in(ctx.input(0)), out(ctx.output(i)));
    }
  }

 private:
  std::vector<int64_t> sizes_of(const PrepareContext& p, int64_t size) const {
    std::vector<int64_t> sizes = axes_of(p, 1, sizes_);
    const int64_t count = p.output_count(), part = (size + count - 1) / count;
    for (int64_t i = 0, left = size; i < count && sizes.size() < static_cast<size_t>(count); ++i) {
      sizes.push_back(std::min(part, left));
      left -= sizes.back();
    }
    int64_t sum = 0;
    for (const int64_t s : sizes) {
      require(s >= 0 && s <= size, TENON_INVALID_ARGUMENT, "a part of ", s, " of ", size);
      sum += s;
    }
    require(sizes.size() == static_cast<size_t>(count) && sum == size, TENON_INVALID_ARGUMENT,
            "the parts do not add up to ", size);
    return sizes;
  }

  int64_t axis_;
  std::vector<int64_t> sizes_;
  CopyKernels copy_;
};
TENON_KERNEL(Split, .op_type = "Split", .since = 2, .contract = "input: rank 1..; split?: [?] @size")

}  // namespace
}  // namespace tenon::opencl
