#include "kernels/common/checked.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

// Both transpose a six-dimensional view.
class DepthToSpace {
 public:
  explicit DepthToSpace(const NodeView& node)
      : block_(node.attr_i("blocksize")), crd_(node.attr_s("mode", "DCR") == "CRD") {
    require(block_ > 0, TENON_INVALID_ARGUMENT, "blocksize is ", block_);
  }
  static Support supports(const NodeView& node) {
    return Check(node).rank(0, 4, 4).attr_is("mode", {"DCR", "CRD"});
  }

  using State = StridedWalk;
  State prepare(PrepareContext& p) const {
    const TensorView in = p.input(0);
    const int64_t b = block_, blocks = checked_mul(b, b, "the block"), h = in.dim(2), w = in.dim(3);
    require(in.dim(1) % blocks == 0, TENON_INVALID_ARGUMENT, in.dim(1), " channels are not a multiple of ",
            blocks);
    const int64_t c = in.dim(1) / blocks, plane = h * w;
    const int64_t channel = crd_ ? b * b * plane : plane, row = crd_ ? b * plane : b * c * plane,
                  column = crd_ ? plane : c * plane;
    const Dims dims{in.dim(0), c, h, b, w, b};
    const Dims strides{in.dim(1) * plane, channel, w, row, 1, column};
    p.set_output(0, Dims{in.dim(0), c, checked_mul(h, b, "the output"), checked_mul(w, b, "the output")});
    return State(dims, strides);
  }
  void run(const Context& ctx, const State& walk) const { copy_strided(ctx, ctx.input(0), 0, walk); }

 private:
  int64_t block_;
  bool crd_;
};

class SpaceToDepth {
 public:
  explicit SpaceToDepth(const NodeView& node)
      : block_(node.attr_i("blocksize")), crd_(node.attr_s("mode", "DCR") == "CRD") {
    require(block_ > 0, TENON_INVALID_ARGUMENT, "blocksize is ", block_);
  }
  static Support supports(const NodeView& node) {
    return Check(node).rank(0, 4, 4).attr_is("mode", {"DCR", "CRD"});
  }

  using State = StridedWalk;
  State prepare(PrepareContext& p) const {
    const TensorView in = p.input(0);
    require(in.dim(2) % block_ == 0 && in.dim(3) % block_ == 0, TENON_INVALID_ARGUMENT, "an image of ",
            in.dim(2), " x ", in.dim(3), " is not made of blocks of ", block_, " x ", block_);
    const int64_t b = block_, c = in.dim(1), h = in.dim(2) / b, w = in.dim(3) / b, line = in.dim(3),
                  plane = in.dim(2) * line;
    const Dims dims = crd_ ? Dims{in.dim(0), c, b, b, h, w} : Dims{in.dim(0), b, b, c, h, w};
    const Dims strides =
        crd_ ? Dims{c * plane, plane, line, 1, b * line, b} : Dims{c * plane, line, 1, plane, b * line, b};
    p.set_output(0, Dims{in.dim(0), checked_mul(c, checked_mul(b, b, "the block"), "the output"), h, w});
    return State(dims, strides);
  }
  void run(const Context& ctx, const State& walk) const { copy_strided(ctx, ctx.input(0), 0, walk); }

 private:
  int64_t block_;
  bool crd_;
};

TENON_KERNEL(DepthToSpace, .op_type = "DepthToSpace", .since = 1, .contract = "input: rank 4")
TENON_KERNEL(SpaceToDepth, .op_type = "SpaceToDepth", .since = 1, .contract = "input: rank 4")

}  // namespace
}  // namespace tenon::cpu
