// MaxUnpool: writes each element to its index in an output of zeros, whose shape is input 2 or follows from the attributes.
#include "kernels/common/kernel.h"
#include "tenon/ep/device/axes.hpp"

namespace tenon::cuda {
namespace {

// Indices refer to the pooled shape, of which y may be larger. Of several elements for one place the last one counts: `last`
// has it for each element of y. Per axis of the walk, size is that of the pooled shape, stride[0] the stride of y and stride[1]
// its size.
constexpr Source kSource{"max_unpool", R"CU(
KERNEL Clear(OUT(M, y), OUT(int, last), int n) {
  EACH(i, n) {
    y[i] = 0;
    last[i] = -1;
  }
}
// The place in y, or -1.
__device__ inline int64 place_in(const Walk& w, int64 index) {
  if (index < 0) return -1;
  int64 to = 0;
  for (int d = w.rank - 1; d >= 0; --d) {
    if (w.size[d] == 0) return -1;
    const int64 next = index / w.size[d], at = index - next * w.size[d];
    if (at >= w.stride[1][d]) return -1;
    to += at * w.stride[0][d];
    index = next;
  }
  return index == 0 ? to : -1;
}
KERNEL Find(IN(int64, index), int* last, int* flag, Walk w, int n) {
  EACH(i, n) {
    const int64 to = place_in(w, index[i]);
    if (to < 0)
      flag_index(flag, index[i], w.outer);
    else
      atomicMax(last + to, (int)i);
  }
}
KERNEL Write(IN(M, x), IN(int64, index), IN(int, last), OUT(M, y), Walk w, int n) {
  EACH(i, n) {
    const int64 to = place_in(w, index[i]);
    if (to >= 0 && last[to] == (int)i) y[to] = x[i];
  }
}
)CU"};
using Kernels = Backend<kSource>;

class MaxUnpool {
 public:
  static constexpr int shape_inputs[] = {2};
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kDeviceRealTypes).input(1, TypeList<int64_t>()).rank(0, 3, kMaxWalkRank);
  }
  explicit MaxUnpool(const NodeView& n)
      : kernel_shape_(n.attr_ints("kernel_shape")),
        strides_(n.attr_ints("strides")),
        pads_(n.attr_ints("pads")) {
    const size_t spatial = kernel_shape_.size();
    require(
        (strides_.empty() || strides_.size() == spatial) && (pads_.empty() || pads_.size() == 2 * spatial),
        TENON_INVALID_ARGUMENT, strides_.size(), " strides and ", pads_.size(), " pads for a kernel of ",
        spatial, " dims");
    const Settings settings{moves(n.input(0).dtype())};
    clear_ = Kernels::load(n, "Clear", settings);
    find_ = Kernels::load(n, "Find", settings);
    write_ = Kernels::load(n, "Write", settings);
  }
  Walk prepare(PrepareContext& p) const {
    const Dims pooled = pooled_shape(p.input(0).dims());
    const Dims y = p.has_input(2) ? p.input(2).to_dims() : pooled;
    require(y.size() == pooled.size() && y.size() <= kMaxWalkRank, TENON_INVALID_ARGUMENT, "output_shape ", y,
            " for input ", p.input(0).dims());
    p.set_output(0, y);
    Walk out{};
    out.rank = static_cast<int32_t>(y.size());
    out.inner = narrow(element_count(y));
    out.outer = narrow(element_count(pooled));
    const Dims strides = dense_strides(y);
    for (size_t d = 0; d < y.size(); ++d) {
      out.size[d] = narrow(pooled[d]);
      out.stride[0][d] = narrow(strides[d]);
      out.stride[1][d] = narrow(y[d]);
    }
    p.workspace(static_cast<uint64_t>(std::max(1, out.inner)) * sizeof(int32_t));
    return out;
  }
  void record(Recorder& ctx, const Walk& walk) const {
    const TensorArg y = out(ctx.output(0)), index = in(ctx.input(1));
    const int32_t n = narrow(ctx.input(0).size());
    launch(ctx, clear_, items_of(walk.inner), y, WorkspaceArg{}, walk.inner);
    launch(ctx, find_, items_of(n), index, WorkspaceArg{}, FlagArg{}, walk, n);
    launch(ctx, write_, items_of(n), in(ctx.input(0)), index, WorkspaceArg{}, y, walk, n);
  }

 private:
  Dims pooled_shape(DimsView x) const {
    require(kernel_shape_.size() + 2 == x.size(), TENON_INVALID_ARGUMENT, "a kernel of ",
            kernel_shape_.size(), " dims for input ", x);
    Dims out(x.begin(), x.end());
    for (size_t d = 0; d < kernel_shape_.size(); ++d) {
      const int64_t stride = strides_.empty() ? 1 : narrow(strides_[d]), size = narrow(kernel_shape_[d]);
      const int64_t begin = pads_.empty() ? 0 : narrow(pads_[d]),
                    end = pads_.empty() ? 0 : narrow(pads_[d + kernel_shape_.size()]);
      require(stride > 0 && size > 0 && begin >= 0 && end >= 0, TENON_INVALID_ARGUMENT, "axis ", d + 2,
              " with kernel ", size, ", stride ", stride, " and pads ", begin, ", ", end);
      out[d + 2] = x[d + 2] == 0 ? 0 : (int64_t{narrow(x[d + 2])} - 1) * stride + size - begin - end;
      require(out[d + 2] >= 0, TENON_INVALID_ARGUMENT, "the pads of axis ", d + 2,
              " are larger than the pooled input");
    }
    return out;
  }

  Dims kernel_shape_, strides_, pads_;
  KernelRef clear_, find_, write_;
};
TENON_KERNEL(MaxUnpool, .op_type = "MaxUnpool", .since = 9,
             .contract = "X: rank 3..; I: = X @index; output_shape?: [?] @size")

}  // namespace
}  // namespace tenon::cuda
