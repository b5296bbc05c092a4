// Forests whose trees are walked for several rows, or several trees for one row, at once.
#include <cmath>

#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

/// A number in [0, bound) from a list that looks random.
class Drawn {
 public:
  int64_t below(int64_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state_ >> 33) % static_cast<uint64_t>(bound));
  }

 private:
  uint64_t state_ = 1;
};

/// Trees of uneven depth that vote for two targets, and what they give.
struct Trees {
  explicit Trees(bool or_equal, bool in_double, int count) : or_equal_(or_equal), in_double_(in_double) {
    for (int tree = 0; tree < count; ++tree) {
      first_.push_back(static_cast<int64_t>(trees_.size()));
      tree_ = tree, next_ = 0;
      grow(tree == 3 ? 0 : 7);
    }
  }

  OpCase row(const std::string& name, int64_t rows) {
    std::vector<float> x, y;
    for (int64_t i = 0; i < rows * kColumns; ++i) {
      const int64_t kind = drawn_.below(20);
      x.push_back(kind == 0 ? kNan : kind == 1 ? kInf : kind == 2 ? -kInf : value());
    }
    for (int64_t r = 0; r < rows; ++r) {
      double sums[2] = {0, 0};
      for (const int64_t first : first_) {
        int64_t at = first;
        while (modes_[static_cast<size_t>(at)] != "LEAF") {
          const auto i = static_cast<size_t>(at);
          const auto v = static_cast<double>(x[static_cast<size_t>(r * kColumns + features_[i])]);
          const bool is_true =
              (std::isnan(v) && missing_[i] != 0) || (or_equal_ ? v <= values_[i] : v < values_[i]);
          at = first + (is_true ? on_true_[i] : on_false_[i]);
        }
        sums[at % 2] += static_cast<double>(at % 13) / 4;
      }
      y.push_back(static_cast<float>(sums[0])), y.push_back(static_cast<float>(sums[1]));
    }
    std::vector<int64_t> leaf_trees, leaf_ids, targets;
    std::vector<float> weights;
    for (size_t i = 0; i < modes_.size(); ++i) {
      if (modes_[i] != "LEAF") continue;
      leaf_trees.push_back(trees_[i]), leaf_ids.push_back(ids_[i]);
      targets.push_back(static_cast<int64_t>(i % 2)), weights.push_back(static_cast<float>(i % 13) / 4);
    }
    std::vector<Attribute> attributes = {{"nodes_treeids", trees_},
                                         {"nodes_nodeids", ids_},
                                         {"nodes_featureids", features_},
                                         {"nodes_modes", modes_},
                                         {"nodes_truenodeids", on_true_},
                                         {"nodes_falsenodeids", on_false_},
                                         {"nodes_missing_value_tracks_true", missing_},
                                         {"target_treeids", leaf_trees},
                                         {"target_nodeids", leaf_ids},
                                         {"target_ids", targets},
                                         {"target_weights", weights},
                                         {"n_targets", int64_t{2}}};
    if (in_double_)
      attributes.push_back({"nodes_values_as_tensor", f64({static_cast<int64_t>(values_.size())}, values_)});
    else
      attributes.push_back({"nodes_values", std::vector<float>(values_.begin(), values_.end())});
    return {name, {f32({rows, kColumns}, x)}, {f32({rows, 2}, y)}, attributes};
  }

 private:
  static constexpr int64_t kColumns = 3;

  float value() { return static_cast<float>(drawn_.below(41) - 20) / 10; }

  /// Adds a node with what is below it, and gives its id.
  int64_t grow(int64_t depth) {
    const auto at = modes_.size();
    const int64_t id = next_++;
    const bool is_leaf = depth == 0 || drawn_.below(6) == 0;
    trees_.push_back(tree_), ids_.push_back(id),
        modes_.push_back(is_leaf     ? "LEAF"
                         : or_equal_ ? "BRANCH_LEQ"
                                     : "BRANCH_LT");
    features_.push_back(is_leaf ? 0 : drawn_.below(kColumns));
    // The numbers of the rows are thresholds too; in double they lie between two float32.
    const float threshold = value();
    const double shift = in_double_ ? static_cast<double>(drawn_.below(3) - 1) * 1e-12 : 0;
    values_.push_back(is_leaf ? 0 : static_cast<double>(threshold) + shift);
    missing_.push_back(is_leaf ? 0 : drawn_.below(2));
    on_true_.push_back(0), on_false_.push_back(0);
    if (!is_leaf) {
      on_true_[at] = grow(depth - 1);
      on_false_[at] = grow(depth - 1);
    }
    return id;
  }

  bool or_equal_, in_double_;
  Drawn drawn_;
  int64_t tree_ = 0, next_ = 0;
  std::vector<int64_t> first_, trees_, ids_, features_, on_true_, on_false_, missing_;
  std::vector<double> values_;
  std::vector<std::string> modes_;
};

std::vector<OpCase> forests() {
  std::vector<OpCase> out;
  for (const bool or_equal : {true, false}) {
    const std::string kind = or_equal ? "at_most_" : "less_";
    for (const int64_t rows : {1, 7, 8, 33, 70})
      out.push_back(Trees(or_equal, false, 37).row(kind + std::to_string(rows), rows));
    for (const int64_t rows : {3, 40})
      out.push_back(Trees(or_equal, true, 20).row(kind + "double_" + std::to_string(rows), rows));
  }
  return out;
}
OP_CASES_IN("ai.onnx.ml", TreeEnsembleRegressor, 3, forests())

}  // namespace
}  // namespace tenon::test
