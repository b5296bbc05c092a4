// Cast and CastLike: expressions of one step. The rules are in kernels/common/operations.h.
#include "kernels/common/expression.h"

namespace tenon::cuda {
namespace {

class Cast {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kAnyTypes).output(0, kAnyTypes); }
  explicit Cast(const NodeView& n) {
    ChainPlan plan(kChainRules);
    require(plan.append(n), TENON_INTERNAL, "a cast does not fit into one launch");
    chain_ = Chain<Elements>(n, std::move(plan), {0});
  }
  ChainWalk prepare(PrepareContext& p) const { return chain_.prepare(p); }
  void record(Recorder& ctx, const ChainWalk& walk) const { chain_.record(ctx, walk); }

 private:
  Chain<Elements> chain_;
};

TENON_KERNEL(Cast, .op_type = "Cast", .since = 6, .contract = "input: any")
TENON_KERNEL(Cast, .op_type = "CastLike", .since = 15, .contract = "input: any; target_type: any")

}  // namespace
}  // namespace tenon::cuda
