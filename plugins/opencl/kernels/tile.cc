#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

class Tile {
 public:
  static constexpr int shape_inputs[] = {1};
  static Support supports(const NodeView& n) { return Check(n).input(0, kAnyTypes); }
  explicit Tile(const NodeView& n) : copy_(n, n.input(0).dtype()) {}
  StridedCopy prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const Dims repeats = p.input(1).to_dims();
    require(repeats.size() == x.size(), TENON_INVALID_ARGUMENT, repeats.size(), " repeats for rank ",
            x.size());
    // Each axis becomes two: the repeats, with stride 0 in x, and the axis itself.
    Dims dims, twice, strides;
    const Dims dense = dense_strides(x);
    for (size_t d = 0; d < x.size(); ++d) {
      require(repeats[d] >= 0, TENON_INVALID_ARGUMENT, "repeats of ", repeats[d]);
      dims.push_back(element_count(Dims{x[d], repeats[d]}));
      twice.insert(twice.end(), {repeats[d], x[d]});
      strides.insert(strides.end(), {0, dense[d]});
    }
    p.set_output(0, dims);
    return gather_copy(twice, strides);
  }
  void record(Recorder& ctx, const StridedCopy& copy) const {
    copy_.record(ctx, copy, in(ctx.input(0)), out(ctx.output(0)));
  }

 private:
  CopyKernels copy_;
};
TENON_KERNEL(Tile, .op_type = "Tile", .since = 6, .contract = "input: any; repeats: [?] @size")

}  // namespace
}  // namespace tenon::opencl
