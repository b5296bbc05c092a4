// DepthToSpace and SpaceToDepth, as transpositions of six axes.
#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

StridedCopy transposed(DimsView six, const std::array<size_t, 6>& order) {
  const Dims dense = dense_strides(six);
  Dims dims, strides;
  for (const size_t axis : order) {
    dims.push_back(six[axis]);
    strides.push_back(dense[axis]);
  }
  return gather_copy(dims, strides);
}

class Blocks {
 public:
  static Support supports(const NodeView& n) {
    const int64_t block = n.attr_i("blocksize", 0);
    constexpr int64_t kMost = 1 << 20;  // its square must fit into an integer
    return Check(n)
        .input(0, kAnyTypes)
        .rank(0, 4, 4)
        .attr_is("mode", {"DCR", "CRD"})
        .that(block > 0 && block <= kMost, TENON_REJECT_ATTRIBUTE, "blocksize is ", block);
  }
  explicit Blocks(const NodeView& n) : block_(n.attr_i("blocksize")), copy_(n, n.input(0).dtype()) {}
  void record(Recorder& ctx, const StridedCopy& copy) const {
    copy_.record(ctx, copy, in(ctx.input(0)), out(ctx.output(0)));
  }

 protected:
  int64_t block_;

 private:
  CopyKernels copy_;
};

class DepthToSpace : public Blocks {
 public:
  explicit DepthToSpace(const NodeView& n) : Blocks(n), is_crd_(n.attr_s("mode", "DCR") == "CRD") {}
  StridedCopy prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const int64_t b = block_;
    require(x.size() == 4 && x[1] % (b * b) == 0, TENON_INVALID_ARGUMENT, "the shape ", x,
            " has no blocks of ", b);
    p.set_output(0, Dims{x[0], x[1] / (b * b), x[2] * b, x[3] * b});
    if (is_crd_) return transposed(Dims{x[0], x[1] / (b * b), b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
    return transposed(Dims{x[0], b, b, x[1] / (b * b), x[2], x[3]}, {0, 3, 4, 1, 5, 2});
  }

 private:
  bool is_crd_;
};
TENON_KERNEL(DepthToSpace, .op_type = "DepthToSpace", .since = 1,
             .contract = "input: [N, $blocksize*$blocksize*C, H, W]")

class SpaceToDepth : public Blocks {
 public:
  explicit SpaceToDepth(const NodeView& n) : Blocks(n), is_crd_(n.attr_s("mode", "DCR") == "CRD") {}
  StridedCopy prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const int64_t b = block_;
    require(x.size() == 4 && x[2] % b == 0 && x[3] % b == 0, TENON_INVALID_ARGUMENT, "the shape ", x,
            " has no blocks of ", b);
    p.set_output(0, Dims{x[0], x[1] * b * b, x[2] / b, x[3] / b});
    const Dims six{x[0], x[1], x[2] / b, b, x[3] / b, b};
    return is_crd_ ? transposed(six, {0, 1, 3, 5, 2, 4}) : transposed(six, {0, 3, 5, 1, 2, 4});
  }

 private:
  bool is_crd_;
};
TENON_KERNEL(SpaceToDepth, .op_type = "SpaceToDepth", .since = 1,
             .contract = "input: [N, C, $blocksize*H, $blocksize*W]")

}  // namespace
}  // namespace tenon::opencl
