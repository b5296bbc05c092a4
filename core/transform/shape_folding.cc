// Turns shape arithmetic on known dimensions into constants. Also the target of a Reshape, when all but one of its
// elements are known or are dimensions of the input.
#include <algorithm>

#include "core/ops/ops.h"
#include "core/transform/edit.h"
#include "core/transform/passes.h"

namespace tenon::transform {

namespace {

class ShapeFolder {
 public:
  ShapeFolder(ir::Graph& graph, const ops::Inference& known) : graph_(graph), known_(known) {}

  size_t run() {
    size_t changes = 0;
    for (ir::NodeId id = 0; id < graph_.node_limit(); ++id) {
      if (graph_.has_node(id)) changes += fold_target(id) ? 1 : 0;
    }
    for (ir::ValueId id = 0; id < known_.values.size(); ++id) {
      if (graph_.has_value(id) && known_.values[id] != nullptr) changes += fold_value(id) ? 1 : 0;
    }
    return changes;
  }

 private:
  bool fold_value(ir::ValueId id) {
    const ir::Value& value = graph_.value(id);
    const ir::NodeId producer = value.producer;
    if (producer == ir::kNone || value.uses.empty() || value.output_count != 0) return false;
    graph_.set_constant(id, known_.values[id]);
    remove_if_unused(graph_, producer);
    return true;
  }

  bool fold_target(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    if (!node.is("Reshape") || !has_input(node, 1) || graph_.value(node.inputs[1]).is_constant())
      return false;
    const auto elements = known_.elements.find(node.inputs[1]);
    if (elements == known_.elements.end() || node.int_or("allowzero", 0) != 0) return false;
    const std::vector<int64_t> target =
        simplify(elements->second.items, graph_.value(node.inputs[0]).type.shape);
    if (target.empty()) return false;
    const ir::NodeId producer = graph_.value(node.inputs[1]).producer;
    const ir::ValueId constant =
        graph_.add_constant(str_cat(node.name, "/shape"), ir::Tensor::of_ints(target));
    graph_.set_input(id, 1, constant);
    if (producer != ir::kNone) remove_if_unused(graph_, producer);
    return true;
  }

  /// An equivalent Reshape target of numbers: -1 for the remaining dimension, 0 for a copied one. Empty when there
  /// is none.
  static std::vector<int64_t> simplify(const std::vector<ops::Element>& items, const ir::Shape& input) {
    // With a 0 in the target, -1 has no meaning.
    auto is = [](int64_t value) {
      return [value](const ops::Element& e) { return e.known && e.value == value; };
    };
    if (std::any_of(items.begin(), items.end(), is(0))) return {};
    const bool has_rest = std::any_of(items.begin(), items.end(), is(-1));
    const auto unknown =
        std::count_if(items.begin(), items.end(), [](const ops::Element& e) { return !e.known; });
    bool rest_free = !has_rest;
    std::vector<int64_t> target;
    for (size_t i = 0; i < items.size(); ++i) {
      const ops::Element& item = items[i];
      const bool copies = i < input.rank() && item.same(ops::Element::of(input.dims[i]));
      if (item.known) {
        target.push_back(item.value);
      } else if (rest_free && (unknown == 1 || !copies)) {
        rest_free = false;
        target.push_back(-1);
      } else if (copies) {
        target.push_back(0);
      } else {
        return {};
      }
    }
    return target;
  }

  ir::Graph& graph_;
  const ops::Inference& known_;
};

}  // namespace

Result<size_t> fold_shapes(Surroundings& around, ir::Graph& graph) {
  const Result<ops::Inference> known = ops::infer_values(graph, around.model.functions, {});
  // Ignore a contradiction in an accepted model: the provider reports the error when the node runs.
  return known.ok() ? ShapeFolder(graph, *known).run() : 0;
}

}  // namespace tenon::transform
