#include "kernels/ml/linear.h"

namespace tenon::cpu {
namespace {

class LinearClassifier {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kMlNumbers); }

  explicit LinearClassifier(const NodeView& n)
      : labels_(n, "classlabels_strings", "classlabels_ints"),
        coefficients_(n.attr_floats("coefficients")),
        intercepts_(n.attr_floats("intercepts")),
        transform_(post_transform_of(n)) {
    scores_ = intercepts_.empty() ? labels_.size() : static_cast<int64_t>(intercepts_.size());
    binary_ = scores_ == 1 && labels_.size() == 2;
    require(labels_.size() > 0, TENON_INVALID_ARGUMENT, "there are no class labels");
    require(scores_ == 1 || labels_.size() >= scores_, TENON_INVALID_ARGUMENT, scores_, " scores for ",
            labels_.size(), " labels");
    require(binary_ || scores_ > 1 || !labels_.are_strings(), TENON_UNIMPLEMENTED,
            "a single class cannot have a string as its label");
  }

  void prepare(PrepareContext& p) const {
    const Rows x = rows_of(p.input(0).dims());
    require_coefficients(x, coefficients_, scores_);
    p.set_output(0, Dims{x.rows});
    // ONNX's inference counts the classes by the intercepts, which are optional.
    if (intercepts_.empty()) return p.set_at_run(1);
    p.set_output(1, Dims{x.rows, outputs()});
  }

  void run(const Context& ctx) const {
    const int64_t rows = rows_of(ctx.input(0).dims()).rows;
    const float* scores = linear_scores(ctx, coefficients_, intercepts_, scores_);
    const std::span<int32_t> winners = scratch_list<int32_t>(ctx, rows);
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = scores + r * scores_;
      winners[static_cast<size_t>(r)] =
          scores_ == 1 ? row[0] > 0 : static_cast<int32_t>(std::max_element(row, row + scores_) - row);
    }
    write_labels(ctx, winners);
    if (!ctx.has_output(1)) return;
    float* out =
        (intercepts_.empty() ? ctx.alloc_output(1, Dims{rows, outputs()}) : ctx.output(1)).data<float>();
    const std::span<double> room = scratch_list<double>(ctx, scores_);
    for (int64_t r = 0; r < rows; ++r) write_scores(scores + r * scores_, room, out + r * outputs());
  }

 private:
  int64_t outputs() const { return binary_ ? 2 : scores_; }
  void write_labels(const Context& ctx, std::span<const int32_t> winners) const {
    if (binary_ || scores_ > 1) return labels_.write(ctx, 0, winners);
    if (ctx.has_output(0)) std::copy(winners.begin(), winners.end(), ctx.output(0).data<int64_t>());
  }
  void write_scores(const float* scores, std::span<double> room, float* out) const {
    if (!binary_) return transform_row(transform_, scores, room, out);
    const std::array<double, 2> both = two_scores(transform_, static_cast<double>(scores[0]), false);
    out[0] = static_cast<float>(both[0]), out[1] = static_cast<float>(both[1]);
  }

  ClassLabels labels_;
  std::vector<float> coefficients_, intercepts_;
  PostTransform transform_;
  int64_t scores_ = 1;   // per row, before a second class is added
  bool binary_ = false;  // one score for two labels
};
TENON_KERNEL(LinearClassifier, .domain = "ai.onnx.ml", .op_type = "LinearClassifier",
             .contract = "X: rank 1..2")

}  // namespace
}  // namespace tenon::cpu
