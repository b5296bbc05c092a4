#include "kernels/ml/forest.h"

namespace tenon::cpu {
namespace {

TreeAggregate aggregate_named(const std::string& name) {
  if (name == "AVERAGE") return TreeAggregate::kAverage;
  if (name == "MIN") return TreeAggregate::kMin;
  if (name == "MAX") return TreeAggregate::kMax;
  require(name == "SUM", TENON_INVALID_ARGUMENT, "aggregate_function '", name, "' is unknown");
  return TreeAggregate::kSum;
}

class TreeEnsembleRegressor {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kMlNumbers); }

  explicit TreeEnsembleRegressor(const NodeView& n)
      : forest_(read_forest(n, "target")),
        base_(floats_or_tensor(n, "base_values")),
        aggregate_(aggregate_named(n.attr_s("aggregate_function", "SUM"))),
        transform_(post_transform_of(n)) {
    require(base_.empty() || base_.size() == 1 || static_cast<int64_t>(base_.size()) == forest_.targets,
            TENON_INVALID_ARGUMENT, base_.size(), " base values for ", forest_.targets, " targets");
  }

  void prepare(PrepareContext& p) const {
    p.set_output(0, Dims{tree_rows(p, forest_).rows, forest_.targets});
  }

  void run(const Context& ctx) const {
    auto* out = ctx.output(0).data<float>();
    dispatch(kMlNumbers, ctx.input(0).dtype(), [&]<class T>() {
      score_rows<T>(ctx, forest_, aggregate_, [&](int64_t row, TreeScores& s) {
        for (size_t i = 0; i < s.sums.size() && !base_.empty(); ++i)
          s.sums[i] += base_[base_.size() == 1 ? 0 : i];
        apply_transform(transform_, s.sums);
        for (size_t i = 0; i < s.sums.size(); ++i)
          out[row * forest_.targets + static_cast<int64_t>(i)] = static_cast<float>(s.sums[i]);
      });
    });
  }

 private:
  Forest forest_;
  std::vector<double> base_;
  TreeAggregate aggregate_;
  PostTransform transform_;
};
TENON_KERNEL(TreeEnsembleRegressor, .domain = "ai.onnx.ml", .op_type = "TreeEnsembleRegressor",
             .contract = "X: rank 1..2")

}  // namespace
}  // namespace tenon::cpu
