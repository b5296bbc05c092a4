#include "kernels/ml/forest.h"

#include <cmath>
#include <limits>
#include <map>

#include "kernels/common/lines.h"

namespace tenon::cpu {
namespace {

using NodeName = std::pair<int64_t, int64_t>;  // (tree, id)

TreeMode mode_named(const std::string& name) {
  static constexpr std::string_view kNames[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (name == kNames[i]) return static_cast<TreeMode>(i);
  fail(TENON_INVALID_ARGUMENT, "node mode '", name, "' is unknown");
}

/// The nodes_* attributes, and the index of each named node.
struct NamedNodes {
  std::vector<int64_t> trees, ids, features, on_true, on_false, missing;
  std::vector<double> values;
  std::vector<std::string> modes;
  std::map<NodeName, int32_t> places;  // node index, or ~leaf

  explicit NamedNodes(const NodeView& n)
      : trees(n.attr_ints("nodes_treeids")),
        ids(n.attr_ints("nodes_nodeids")),
        features(n.attr_ints("nodes_featureids")),
        on_true(n.attr_ints("nodes_truenodeids")),
        on_false(n.attr_ints("nodes_falsenodeids")),
        missing(n.attr_ints("nodes_missing_value_tracks_true")),
        values(floats_or_tensor(n, "nodes_values")),
        modes(n.attr_strings("nodes_modes")) {
    const size_t count = modes.size();
    for (const size_t size : {trees.size(), ids.size(), features.size(), on_true.size(), on_false.size(),
                              values.size(), missing.empty() ? count : missing.size()})
      require(size == count, TENON_INVALID_ARGUMENT, "the nodes_* attributes differ in length");
    int32_t nodes = 0, leaves = 0;
    for (size_t i = 0; i < count; ++i) {
      const int32_t place = is_leaf(i) ? ~leaves++ : nodes++;
      require(places.emplace(NodeName(trees[i], ids[i]), place).second, TENON_INVALID_ARGUMENT, "tree ",
              trees[i], " has node ", ids[i], " twice");
    }
  }
  bool is_leaf(size_t i) const { return modes[i] == "LEAF"; }
  int32_t place(int64_t tree, int64_t id) const {
    const auto found = places.find({tree, id});
    require(found != places.end(), TENON_INVALID_ARGUMENT, "tree ", tree, " has no node ", id);
    return found->second;
  }
};

TreeNode make_node(const NamedNodes& named, size_t i) {
  TreeNode node;
  node.value = named.values[i];
  node.feature = tree_feature(named.features[i]);
  node.on_true = named.place(named.trees[i], named.on_true[i]);
  node.on_false = named.place(named.trees[i], named.on_false[i]);
  node.mode = mode_named(named.modes[i]);
  node.missing_is_true = !named.missing.empty() && named.missing[i] != 0;
  return node;
}

/// The first node of each tree that is not a child.
std::vector<int32_t> find_roots(const NamedNodes& named) {
  std::map<NodeName, bool> is_child;
  for (size_t i = 0; i < named.modes.size(); ++i) {
    if (named.is_leaf(i)) continue;
    is_child[{named.trees[i], named.on_true[i]}] = is_child[{named.trees[i], named.on_false[i]}] = true;
  }
  std::vector<int32_t> roots;
  std::map<int64_t, bool> has_root;
  for (size_t i = 0; i < named.modes.size(); ++i) {
    const NodeName name(named.trees[i], named.ids[i]);
    if (is_child.count(name) != 0 || !has_root.emplace(name.first, true).second) continue;
    roots.push_back(named.place(name.first, name.second));
  }
  return roots;
}

void read_votes(const NodeView& n, const std::string& prefix, const NamedNodes& named, size_t leaf_count,
                Forest& forest) {
  std::vector<std::vector<TreeVote>> leaves(leaf_count);
  const std::vector<int64_t> trees = n.attr_ints(prefix + "_treeids"), ids = n.attr_ints(prefix + "_nodeids"),
                             targets = n.attr_ints(prefix + "_ids");
  const std::vector<double> weights = floats_or_tensor(n, prefix + "_weights");
  require(trees.size() == ids.size() && trees.size() == targets.size() && trees.size() == weights.size(),
          TENON_INVALID_ARGUMENT, "the ", prefix, "_* attributes differ in length");
  for (size_t i = 0; i < trees.size(); ++i) {
    const int32_t place = named.place(trees[i], ids[i]);
    if (place >= 0) continue;  // votes of inner nodes do not count
    require(targets[i] >= 0 && targets[i] < forest.targets, TENON_INVALID_ARGUMENT, prefix, " ", targets[i],
            " is out of range");
    const int32_t leaf = ~place;
    leaves[static_cast<size_t>(leaf)].push_back({static_cast<int32_t>(targets[i]), weights[i]});
  }
  forest.set_leaves(leaves);
}

}  // namespace

std::vector<double> floats_or_tensor(const NodeView& n, const std::string& attribute) {
  const TensorView tensor = n.attr_tensor(attribute + "_as_tensor");
  if (tensor.present()) return as_doubles(tensor);
  const std::vector<float> floats = n.attr_floats(attribute);
  return {floats.begin(), floats.end()};
}

Forest read_forest(const NodeView& n, const std::string& vote_prefix) {
  const NamedNodes named(n);
  Forest forest;
  if (vote_prefix == "target") {
    forest.targets = tree_targets(n, n.attr_ints("target_ids"));
  } else {
    forest.targets = ClassLabels(n, "classlabels_strings", "classlabels_int64s").size();
  }
  for (size_t i = 0; i < named.modes.size(); ++i)
    if (!named.is_leaf(i)) forest.nodes.push_back(make_node(named, i));
  forest.roots = find_roots(named);
  read_votes(n, vote_prefix, named, named.modes.size() - forest.nodes.size(), forest);
  forest.check();
  return forest;
}

int64_t tree_targets(const NodeView& n, const std::vector<int64_t>& ids) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const int64_t highest = ids.empty() ? 0 : *std::max_element(ids.begin(), ids.end());
  const int64_t out = n.attr_i("n_targets", std::min(highest, kMost) + 1);
  require(out > 0 && out <= kMost, TENON_INVALID_ARGUMENT, "the trees vote for ", out, " targets");
  return out;
}

int32_t tree_feature(int64_t feature) {
  require(feature >= 0 && feature < std::numeric_limits<int32_t>::max(), TENON_INVALID_ARGUMENT, "feature ",
          feature, " is out of range");
  return static_cast<int32_t>(feature);
}

void Forest::set_leaves(const std::vector<std::vector<TreeVote>>& leaves) {
  leaf_begins.assign(1, 0);
  for (const std::vector<TreeVote>& leaf : leaves) {
    votes.insert(votes.end(), leaf.begin(), leaf.end());
    leaf_begins.push_back(static_cast<int32_t>(votes.size()));
  }
}

// For float32 x, x <= value is x <= the next float32 below value, and x < value is x < the next above.
void Forest::flatten() {
  if (only_mode_ != TreeMode::kLessEqual && only_mode_ != TreeMode::kLess) return;
  const size_t leaves = leaf_begins.size() - 1;
  if (features == 0 || nodes.size() + leaves > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
    return;
  const auto place = [this](int32_t at) { return at >= 0 ? at : static_cast<int32_t>(nodes.size()) + ~at; };
  flat_.reserve(nodes.size() + leaves);
  for (const TreeNode& node : nodes) {
    auto value = static_cast<float>(node.value);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    if (only_mode_ == TreeMode::kLessEqual && static_cast<double>(value) > node.value)
      value = std::nextafter(value, -kInfinity);
    if (only_mode_ == TreeMode::kLess && static_cast<double>(value) < node.value)
      value = std::nextafter(value, kInfinity);
    has_missing_ = has_missing_ || node.missing_is_true;
    const int32_t missing = node.missing_is_true ? std::numeric_limits<int32_t>::min() : 0;
    flat_.push_back({value, node.feature | missing, {place(node.on_true), place(node.on_false)}});
  }
  for (size_t leaf = 0; leaf < leaves; ++leaf) {
    const auto self = static_cast<int32_t>(flat_.size());
    flat_.push_back({0, 0, {self, self}});
  }
}

void Forest::check() {
  const auto valid = [&](int32_t at) {
    return at >= 0 ? static_cast<size_t>(at) < nodes.size()
                   : static_cast<size_t>(~at) + 1 < leaf_begins.size();
  };
  require(targets > 0, TENON_INVALID_ARGUMENT, "the trees have no targets or classes");
  for (const int32_t root : roots) require(valid(root), TENON_INVALID_ARGUMENT, "a root is out of range");
  for (const TreeNode& node : nodes) {
    require(valid(node.on_true) && valid(node.on_false), TENON_INVALID_ARGUMENT, "a branch is out of range");
    features = std::max(features, node.feature + 1);
  }
  const auto as_first = [&](const TreeNode& node) { return node.mode == nodes.front().mode; };
  if (!nodes.empty() && std::all_of(nodes.begin(), nodes.end(), as_first)) only_mode_ = nodes.front().mode;
  // Finds cycles by depth-first search, from every node: a cycle need not be reachable from a root.
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> state(nodes.size(), kNew);
  std::vector<int32_t> stack;
  for (size_t first = 0; first < nodes.size(); ++first) {
    stack.push_back(static_cast<int32_t>(first));
    while (!stack.empty()) {
      const int32_t at = stack.back();
      if (at < 0 || state[static_cast<size_t>(at)] == kDone) {
        stack.pop_back();
        continue;
      }
      uint8_t& s = state[static_cast<size_t>(at)];
      if (s == kOpen) {
        s = kDone;
        stack.pop_back();
        continue;
      }
      s = kOpen;
      for (const int32_t child :
           {nodes[static_cast<size_t>(at)].on_true, nodes[static_cast<size_t>(at)].on_false}) {
        if (child < 0) continue;
        require(state[static_cast<size_t>(child)] != kOpen, TENON_INVALID_ARGUMENT, "a tree has a cycle");
        if (state[static_cast<size_t>(child)] == kNew) stack.push_back(child);
      }
    }
  }
  flatten();
}

}  // namespace tenon::cpu
