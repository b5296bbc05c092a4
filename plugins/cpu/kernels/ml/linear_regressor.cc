#include "kernels/ml/linear.h"

namespace tenon::cpu {
namespace {

class LinearRegressor {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kMlNumbers); }

  explicit LinearRegressor(const NodeView& n)
      : coefficients_(n.attr_floats("coefficients")),
        intercepts_(n.attr_floats("intercepts")),
        targets_(n.attr_i("targets", 1)),
        transform_(post_transform_of(n)) {
    require(targets_ > 0, TENON_INVALID_ARGUMENT, "targets is ", targets_);
    require(intercepts_.empty() || static_cast<int64_t>(intercepts_.size()) == targets_,
            TENON_INVALID_ARGUMENT, intercepts_.size(), " intercepts for ", targets_, " targets");
  }

  void prepare(PrepareContext& p) const {
    const Rows x = rows_of(p.input(0).dims());
    require_coefficients(x, coefficients_, targets_);
    p.set_output(0, Dims{x.rows, targets_});
  }

  void run(const Context& ctx) const {
    const float* scores = linear_scores(ctx, coefficients_, intercepts_, targets_);
    auto* out = ctx.output(0).data<float>();
    const std::span<double> room = scratch_list<double>(ctx, targets_);
    for (int64_t i = 0; i < ctx.output(0).size(); i += targets_)
      transform_row(transform_, scores + i, room, out + i);
  }

 private:
  std::vector<float> coefficients_, intercepts_;
  int64_t targets_;
  PostTransform transform_;
};
TENON_KERNEL(LinearRegressor, .domain = "ai.onnx.ml", .op_type = "LinearRegressor",
             .contract = "X: rank 1..2")

}  // namespace
}  // namespace tenon::cpu
