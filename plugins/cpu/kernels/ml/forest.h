// Ensembles of decision trees, laid out for fast walks. The three operators differ in how they name nodes and
// use the scores.
#pragma once

#include "device.h"
#include "isa/forest.h"
#include "kernels/common/scratch.h"
#include "kernels/ml/ml.h"

namespace tenon::cpu {

/// The numbers of TreeEnsemble-5.
enum class TreeMode : uint8_t { kLessEqual, kLess, kGreaterEqual, kGreater, kEqual, kNotEqual, kMember };
enum class TreeAggregate { kAverage, kSum, kMin, kMax };

struct TreeNode {
  double value = 0;  // unused by kMember
  int32_t feature = 0;
  int32_t on_true = 0, on_false = 0;  // node index, or ~leaf
  TreeMode mode = TreeMode::kLessEqual;
  bool missing_is_true = false;
  int32_t members = 0;  // for kMember: index of its set
};

struct TreeVote {
  int32_t target = 0;
  double weight = 0;
};

struct Forest {
  std::vector<int32_t> roots;  // node index, or ~leaf
  std::vector<TreeNode> nodes;
  std::vector<TreeVote> votes;                   // grouped by leaf
  std::vector<int32_t> leaf_begins;              // into votes; one more than there are leaves
  std::vector<std::vector<double>> member_sets;  // each sorted
  int64_t targets = 1;
  int32_t features = 0;  // columns that the trees use

  /// Stores the votes, one list per leaf.
  void set_leaves(const std::vector<std::vector<TreeVote>>& leaves);
  /// Throws an Error for an invalid index or a cycle, because models are untrusted. Also sets `features`, the
  /// common mode and the flat form.
  void check();

  /// Whether float32 rows can go through the trees several at once.
  bool is_flat() const { return !flat_.empty(); }
  /// Takes walk i of `n`, which begins at node or ~leaf at[i], to its leaf: at[i] becomes its index. Row i begins
  /// at x + offsets[i].
  void descend(const float* x, const int64_t* offsets, int32_t* at, int64_t n) const {
    const auto inner = static_cast<int32_t>(nodes.size());
    for (int64_t i = 0; i < n; ++i)
      if (at[i] < 0) at[i] = inner + ~at[i];
    const isa::Comparisons& loops =
        has_missing_ ? isa_table().forest->with_missing : isa_table().forest->without_missing;
    (only_mode_ == TreeMode::kLess ? loops.less : loops.less_equal)(flat_.data(), inner, x, offsets, at, n);
    for (int64_t i = 0; i < n; ++i) at[i] -= inner;
  }
  std::span<const TreeVote> votes_of(int32_t leaf) const {
    const int32_t* begin = leaf_begins.data() + leaf;
    return {votes.data() + begin[0], votes.data() + begin[1]};
  }

  template <class T>
  std::span<const TreeVote> walk(int32_t at, const T* row) const {
    const TreeNode* all = nodes.data();  // check() has checked every index
    const auto descend = [&](auto&& is_true) {
      while (at >= 0) {
        const TreeNode& node = all[at];
        const auto x = static_cast<double>(static_cast<Compute<T>>(row[node.feature]));
        at = is_true(node, x) ? node.on_true : node.on_false;
      }
    };
    switch (only_mode_) {
      case TreeMode::kLessEqual:
        descend([](const TreeNode& node, double x) { return x <= node.value || is_missing(node, x); });
        break;
      case TreeMode::kLess:
        descend([](const TreeNode& node, double x) { return x < node.value || is_missing(node, x); });
        break;
      default:
        descend([this](const TreeNode& node, double x) { return goes_true(node, x); });
    }
    return votes_of(~at);
  }

 private:
  static bool is_missing(const TreeNode& node, double x) { return x != x && node.missing_is_true; }
  bool goes_true(const TreeNode& node, double x) const {
    if (is_missing(node, x)) return true;
    switch (node.mode) {
      case TreeMode::kLessEqual:
        return x <= node.value;
      case TreeMode::kLess:
        return x < node.value;
      case TreeMode::kGreaterEqual:
        return x >= node.value;
      case TreeMode::kGreater:
        return x > node.value;
      case TreeMode::kEqual:
        return x == node.value;
      case TreeMode::kNotEqual:
        return x != node.value;
      case TreeMode::kMember:
        break;
    }
    const std::vector<double>& set = member_sets[static_cast<size_t>(node.members)];
    return x == x && std::binary_search(set.begin(), set.end(), x);
  }

  void flatten();

  std::vector<isa::FlatNode> flat_;         // the nodes, then the leaves; empty if their modes have no loop
  bool has_missing_ = false;                // whether a node of the flat form counts NaN as true
  TreeMode only_mode_ = TreeMode::kMember;  // set by check(): the common mode; kMember: they differ
};

/// The checked forest of TreeEnsembleClassifier ("class") or TreeEnsembleRegressor ("target"). Nodes are
/// named by tree and id; votes are separate lists.
Forest read_forest(const NodeView& n, const std::string& vote_prefix);

/// Attribute `n_targets`, or the highest target voted for plus one.
int64_t tree_targets(const NodeView& n, const std::vector<int64_t>& ids);

/// Throws an Error unless `feature` is a valid column index.
int32_t tree_feature(int64_t feature);

/// The attribute with "_as_tensor" appended, or else the list of floats.
std::vector<double> floats_or_tensor(const NodeView& n, const std::string& attribute);

/// Scores of one row while votes are added.
struct TreeScores {
  std::span<double> sums;
  std::span<uint8_t> voted;  // whether a target got any vote

  void add(TreeVote vote, TreeAggregate aggregate) {
    double& sum = sums.data()[vote.target];
    uint8_t& has_vote = voted.data()[vote.target];
    if (aggregate == TreeAggregate::kMin) {
      sum = has_vote != 0 ? std::min(sum, vote.weight) : vote.weight;
    } else if (aggregate == TreeAggregate::kMax) {
      sum = has_vote != 0 ? std::max(sum, vote.weight) : vote.weight;
    } else {
      sum += vote.weight;
    }
    has_vote = 1;
  }
};

/// In prepare: throws an Error unless the input has all columns that the trees use.
inline Rows tree_rows(const PrepareContext& p, const Forest& forest) {
  const Rows x = rows_of(p.input(0).dims());
  require(forest.features <= x.columns, TENON_INVALID_ARGUMENT, "the trees use feature ", forest.features - 1,
          ", but the input has ", x.columns, " columns");
  return x;
}

/// Adds the votes of all trees for `rows` rows, at most kFlatRows: a tree at a time for several rows, or several
/// trees at a time for few rows. Votes are added in the order of the trees.
inline constexpr int64_t kFlatRows = 32;
template <class F>
void score_flat(const Context& ctx, const Forest& forest, TreeAggregate aggregate, const float* x,
                int64_t columns, int64_t rows, F&& scores_of) {
  constexpr int64_t kFewRows = 8;
  const int64_t trees = static_cast<int64_t>(forest.roots.size());
  int32_t at[kFlatRows];
  int64_t offsets[kFlatRows];
  const auto vote = [&](int64_t row, int32_t leaf) {
    TreeScores scores = scores_of(row);
    for (const TreeVote& given : forest.votes_of(leaf)) scores.add(given, aggregate);
  };
  if (rows >= kFewRows) {
    for (int64_t row = 0; row < rows; ++row) offsets[row] = row * columns;
    for (int64_t tree = 0; tree < trees; ++tree) {
      if (tree % kFlatRows == 0) ctx.check_cancelled();
      std::fill_n(at, rows, forest.roots[static_cast<size_t>(tree)]);
      forest.descend(x, offsets, at, rows);
      for (int64_t row = 0; row < rows; ++row) vote(row, at[row]);
    }
    return;
  }
  for (int64_t row = 0; row < rows; ++row) {
    std::fill_n(offsets, kFlatRows, row * columns);
    for (int64_t tree = 0; tree < trees; tree += kFlatRows) {
      ctx.check_cancelled();
      const int64_t count = std::min(kFlatRows, trees - tree);
      std::copy_n(forest.roots.begin() + tree, count, at);
      forest.descend(x, offsets, at, count);
      for (int64_t i = 0; i < count; ++i) vote(row, at[i]);
    }
  }
}

/// Calls finish(row, scores) for every row of input 0.
template <class T, class F>
void score_rows(const Context& ctx, const Forest& forest, TreeAggregate aggregate, F&& finish) {
  const Rows x = rows_of(ctx.input(0).dims());
  const T* data = ctx.input(0).data<T>();
  const auto trees = static_cast<int64_t>(forest.roots.size());
  const int32_t* roots = forest.roots.data();
  constexpr int64_t kBlock = kFlatRows;  // rows that pass a tree while it is in the cache
  constexpr int64_t kTreesPerCheck = 16;
  const WorkerLists<double> all_sums(ctx, kBlock * forest.targets);
  const WorkerLists<uint8_t> all_voted(ctx, kBlock * forest.targets);
  const int64_t grain = std::max<int64_t>(1, kGrainCostly / (trees + 1));
  ctx.parallel_for(x.rows, grain, [&](uint32_t worker, int64_t begin, int64_t end) {
    const std::span<double> sums = all_sums.of(worker);
    const std::span<uint8_t> voted = all_voted.of(worker);
    const auto targets = static_cast<size_t>(forest.targets);
    for (int64_t first = begin; first < end; first += kBlock) {
      const int64_t last = std::min(end, first + kBlock);
      const auto scores_of = [&](int64_t row) {
        const size_t at = static_cast<size_t>(row - first) * targets;
        return TreeScores{sums.subspan(at, targets), voted.subspan(at, targets)};
      };
      std::fill(sums.begin(), sums.end(), 0.0);
      std::fill(voted.begin(), voted.end(), uint8_t{0});
      if constexpr (std::is_same_v<T, float>) {
        if (forest.is_flat()) {
          score_flat(ctx, forest, aggregate, data + first * x.columns, x.columns, last - first,
                     [&](int64_t row) { return scores_of(first + row); });
        }
      }
      for (int64_t tree = 0; tree < trees && !(std::is_same_v<T, float> && forest.is_flat()); ++tree) {
        if (tree % kTreesPerCheck == 0) ctx.check_cancelled();
        const int32_t root = roots[tree];
        for (int64_t row = first; row < last; ++row) {
          TreeScores scores = scores_of(row);
          for (const TreeVote& vote : forest.walk(root, data + row * x.columns)) scores.add(vote, aggregate);
        }
      }
      for (int64_t row = first; row < last; ++row) {
        TreeScores s = scores_of(row);
        if (aggregate == TreeAggregate::kAverage) {
          for (double& sum : s.sums) sum /= static_cast<double>(trees);
        }
        finish(row, s);
      }
    }
  });
}

}  // namespace tenon::cpu
