#include "kernels/common/lines.h"
#include "kernels/ml/forest.h"

namespace tenon::cpu {
namespace {

constexpr TypeList<float, double, Float16> kTypes;

/// Reads membership_values: sets, each ended by NaN.
std::vector<std::vector<double>> read_members(const NodeView& n) {
  std::vector<std::vector<double>> sets;
  const TensorView values = n.attr_tensor("membership_values");
  if (!values.present()) return sets;
  std::vector<double> set;
  for (const double value : as_doubles(values)) {
    if (value == value) {
      set.push_back(value);
      continue;
    }
    std::sort(set.begin(), set.end());
    sets.push_back(std::move(set));
    set.clear();
  }
  return sets;
}

std::vector<double> needed_doubles(const NodeView& n, std::string_view attribute) {
  const TensorView tensor = n.attr_tensor(attribute);
  require(tensor.present(), TENON_INVALID_ARGUMENT, "attribute ", attribute, " is missing");
  return as_doubles(tensor);
}

int32_t branch(int64_t at, int64_t is_leaf) {
  require(at >= 0 && at < std::numeric_limits<int32_t>::max(), TENON_INVALID_ARGUMENT, "branch ", at,
          " is out of range");
  return is_leaf != 0 ? ~static_cast<int32_t>(at) : static_cast<int32_t>(at);
}

void read_nodes(const NodeView& n, Forest& forest) {
  const std::vector<int64_t> features = n.attr_ints("nodes_featureids"),
                             on_true = n.attr_ints("nodes_truenodeids"),
                             on_false = n.attr_ints("nodes_falsenodeids"),
                             true_leaves = n.attr_ints("nodes_trueleafs"),
                             false_leaves = n.attr_ints("nodes_falseleafs"),
                             missing = n.attr_ints("nodes_missing_value_tracks_true");
  const TensorView modes = n.attr_tensor("nodes_modes");
  const std::vector<double> splits = needed_doubles(n, "nodes_splits");
  require(modes.present() && modes.dtype() == TENON_UINT8, TENON_INVALID_ARGUMENT,
          "nodes_modes must be uint8");
  const size_t count = splits.size();
  for (const size_t size :
       {features.size(), on_true.size(), on_false.size(), true_leaves.size(), false_leaves.size(),
        static_cast<size_t>(modes.size()), missing.empty() ? count : missing.size()})
    require(size == count, TENON_INVALID_ARGUMENT, "the nodes_* attributes differ in length");
  for (size_t i = 0; i < count; ++i) {
    TreeNode node;
    node.value = splits[i];
    node.feature = tree_feature(features[i]);
    node.on_true = branch(on_true[i], true_leaves[i]);
    node.on_false = branch(on_false[i], false_leaves[i]);
    node.missing_is_true = !missing.empty() && missing[i] != 0;
    const uint8_t mode = modes.data<uint8_t>()[i];
    require(mode <= static_cast<uint8_t>(TreeMode::kMember), TENON_INVALID_ARGUMENT, "node mode ", mode,
            " is unknown");
    node.mode = static_cast<TreeMode>(mode);
    forest.nodes.push_back(node);
  }
}

/// Assigns the sets to the nodes that need one, in the order of the trees: depth first, true before false.
void hand_out_members(Forest& forest) {
  int32_t next = 0;
  std::vector<uint8_t> seen(forest.nodes.size(), 0);
  std::vector<int32_t> stack(forest.roots.rbegin(), forest.roots.rend());
  while (!stack.empty()) {
    const int32_t at = stack.back();
    stack.pop_back();
    if (at < 0 || seen[static_cast<size_t>(at)]++ != 0) continue;
    TreeNode& node = forest.nodes[static_cast<size_t>(at)];
    if (node.mode == TreeMode::kMember) node.members = next++;
    stack.push_back(node.on_false);
    stack.push_back(node.on_true);
  }
  require(static_cast<size_t>(next) <= forest.member_sets.size(), TENON_INVALID_ARGUMENT,
          "membership_values has ", forest.member_sets.size(), " sets for ", next, " nodes");
}

class TreeEnsemble {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kTypes); }

  explicit TreeEnsemble(const NodeView& n) : transform_(post_transform_of(n)) {
    const int64_t aggregate = n.attr_i("aggregate_function", 1);
    require(aggregate >= 0 && aggregate <= 3, TENON_INVALID_ARGUMENT, "aggregate_function ", aggregate,
            " is unknown");
    aggregate_ = static_cast<TreeAggregate>(aggregate);
    read_leaves(n);
    read_nodes(n, forest_);
    forest_.member_sets = read_members(n);
    for (const int64_t root : n.attr_ints("tree_roots")) forest_.roots.push_back(branch(root, 0));
    forest_.check();
    hand_out_members(forest_);
  }

  void prepare(PrepareContext& p) const {
    p.set_output(0, Dims{tree_rows(p, forest_).rows, forest_.targets});
  }

  void run(const Context& ctx) const {
    dispatch(kTypes, ctx.input(0).dtype(), [&]<class T>() {
      T* out = ctx.output(0).data<T>();
      score_rows<T>(ctx, forest_, aggregate_, [&](int64_t row, TreeScores& s) {
        apply_transform(transform_, s.sums);
        for (size_t i = 0; i < s.sums.size(); ++i)
          out[row * forest_.targets + static_cast<int64_t>(i)] = static_cast<T>(s.sums[i]);
      });
    });
  }

 private:
  void read_leaves(const NodeView& n) {
    const std::vector<int64_t> targets = n.attr_ints("leaf_targetids");
    const std::vector<double> weights = needed_doubles(n, "leaf_weights");
    require(targets.size() == weights.size(), TENON_INVALID_ARGUMENT,
            "the leaf_* attributes differ in length");
    forest_.targets = tree_targets(n, targets);
    std::vector<std::vector<TreeVote>> leaves;
    for (size_t i = 0; i < targets.size(); ++i) {
      require(targets[i] >= 0 && targets[i] < forest_.targets, TENON_INVALID_ARGUMENT, "target ", targets[i],
              " is out of range");
      leaves.push_back({{static_cast<int32_t>(targets[i]), weights[i]}});
    }
    forest_.set_leaves(leaves);
  }

  Forest forest_;
  TreeAggregate aggregate_ = TreeAggregate::kSum;
  PostTransform transform_;
};
TENON_KERNEL(TreeEnsemble, .domain = "ai.onnx.ml", .op_type = "TreeEnsemble", .since = 5,
             .contract = "X: rank 1..2")

}  // namespace
}  // namespace tenon::cpu
