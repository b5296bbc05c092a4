#include "kernels/ml/forest.h"

namespace tenon::cpu {
namespace {

// Outputs: the label and scores of each row. The standard only partly defines models with two labels. If all
// votes are for one class, this follows what converters of gradient boosting rely on.
class TreeEnsembleClassifier {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kMlNumbers); }

  explicit TreeEnsembleClassifier(const NodeView& n)
      : forest_(read_forest(n, "class")),
        labels_(n, "classlabels_strings", "classlabels_int64s"),
        base_(floats_or_tensor(n, "base_values")),
        transform_(post_transform_of(n)) {
    require(base_.empty() || base_.size() == 1 || static_cast<int64_t>(base_.size()) == labels_.size(),
            TENON_INVALID_ARGUMENT, base_.size(), " base values for ", labels_.size(), " classes");
    require(labels_.size() > 1 || !labels_.are_strings(), TENON_UNIMPLEMENTED,
            "a single class cannot have a string as its label");
    const std::vector<TreeVote>& votes = forest_.votes;
    one_class_ = std::all_of(votes.begin(), votes.end(),
                             [&](const TreeVote& v) { return v.target == votes.front().target; });
    positive_ = std::all_of(votes.begin(), votes.end(), [](const TreeVote& v) { return v.weight >= 0; });
  }

  void prepare(PrepareContext& p) const {
    const Rows x = tree_rows(p, forest_);
    p.set_output(0, Dims{x.rows});
    p.set_output(1, Dims{x.rows, labels_.size()});
  }

  void run(const Context& ctx) const {
    const std::span<int32_t> winners = scratch_list<int32_t>(ctx, rows_of(ctx.input(0).dims()).rows);
    float* out = ctx.has_output(1) ? ctx.output(1).data<float>() : nullptr;
    dispatch(kMlNumbers, ctx.input(0).dtype(), [&]<class T>() {
      score_rows<T>(ctx, forest_, TreeAggregate::kSum, [&](int64_t row, TreeScores& s) {
        winners[static_cast<size_t>(row)] = finish(s);
        for (size_t i = 0; out != nullptr && i < s.sums.size(); ++i)
          out[row * labels_.size() + static_cast<int64_t>(i)] = static_cast<float>(s.sums[i]);
      });
    });
    if (labels_.size() == 1) return write_sign(ctx, winners);
    labels_.write(ctx, 0, winners);
  }

 private:
  /// Turns sums into scores and returns the winner.
  int32_t finish(TreeScores& s) const {
    if (labels_.size() == 1) return finish_one(s);
    if (labels_.size() == 2 && one_class_) return finish_binary(s);
    for (size_t i = 0; i < base_.size(); ++i) s.sums[i] += base_[i], s.voted[i] = 1;
    int32_t winner = -1;  // among the classes with a vote
    for (int32_t i = 0; i < static_cast<int32_t>(s.sums.size()); ++i) {
      const auto at = static_cast<size_t>(i);
      if (s.voted[at] != 0 && (winner < 0 || s.sums[at] > s.sums[static_cast<size_t>(winner)])) winner = i;
    }
    apply_transform(transform_, s.sums);
    return std::max(winner, 0);
  }

  /// A single class: keeps its score, and returns whether it is positive.
  int32_t finish_one(TreeScores& s) const {
    if (!base_.empty()) s.sums[0] += base_[0];
    const int32_t winner = s.sums[0] > 0 ? 1 : 0;
    if (transform_ == PostTransform::kProbit) apply_transform(transform_, s.sums);
    return winner;
  }

  /// Two labels, and all votes are for one of them: its score decides.
  int32_t finish_binary(TreeScores& s) const {
    const bool first = forest_.votes.empty() || forest_.votes.front().target == 0;
    double score = s.sums[first ? 0 : 1];
    if (!base_.empty()) score += base_[first || base_.size() == 1 ? 0 : 1];
    const int32_t winner = score > (positive_ ? 0.5 : 0.0) ? 1 : 0;
    if (first) {
      const std::array<double, 2> both = two_scores(transform_, score, !positive_);
      std::copy(both.begin(), both.end(), s.sums.begin());
    } else {
      s.sums[1] = score;
      apply_transform(transform_, s.sums);
    }
    return winner;
  }

  static void write_sign(const Context& ctx, std::span<const int32_t> winners) {
    if (ctx.has_output(0)) std::copy(winners.begin(), winners.end(), ctx.output(0).data<int64_t>());
  }

  Forest forest_;
  ClassLabels labels_;
  std::vector<double> base_;
  PostTransform transform_;
  bool one_class_ = false, positive_ = false;
};
TENON_KERNEL(TreeEnsembleClassifier, .domain = "ai.onnx.ml", .op_type = "TreeEnsembleClassifier",
             .contract = "X: rank 1..2")

}  // namespace
}  // namespace tenon::cpu
