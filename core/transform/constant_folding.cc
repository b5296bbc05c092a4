// Computes values that depend on constants only. Constant nodes are read here; the host's evaluator runs all
// others.
#include <algorithm>

#include "core/base/stop.h"
#include "core/ir/constant.h"
#include "core/ops/ops.h"
#include "core/transform/edit.h"
#include "core/transform/passes.h"

namespace tenon::transform {

namespace {

using ir::ElementType;

/// Beyond these limits memory costs more than the time is worth. Results of one node may take kMaxGrowth times the
/// size of its inputs, folding may add kMaxGrowth times the weights of the model; both at least kFreeBytes, so that a
/// filter that a model computes from a few numbers (a resampler's, a window's) is computed once.
constexpr int64_t kFreeBytes = int64_t{16} << 20;
constexpr int64_t kMaxGrowth = 16;
/// Limit on inputs when the result size is known only after running (NonZero, strings, ...).
constexpr int64_t kMaxUnknown = int64_t{64} << 10;

/// The value of a Constant node; null when it refers to an attribute of a function.
Result<ir::TensorPtr> stated_value(const ir::Node& node, int64_t limit_bytes) {
  for (const ir::Attribute& attribute : node.attributes) {
    if (!attribute.reference.empty()) break;
    // Two underscores mark names private to a tool.
    if (!attribute.name.starts_with("__")) return ir::constant_value(attribute, limit_bytes);
  }
  return ir::TensorPtr();
}

/// Bytes of a static type; -1 when known only at run time.
int64_t bytes_of(const ir::Type& type) {
  int64_t bytes = 0;
  const int64_t count = type.is_tensor() ? type.shape.element_count() : -1;
  if (count < 0) return -1;
  if (type.element == ElementType::kString) return -1;
  return ir::packed_bytes(type.element, count, &bytes) ? bytes : -1;
}

class Folder {
 public:
  Folder(Surroundings& around, ir::Graph& graph)
      : options_(around.options), graph_(graph), budget_(*options_.folded) {
    if (budget_.weights < 0) budget_.weights = constant_bytes(around.whole);
  }

  Result<size_t> run() {
    size_t changes = push_into_bodies(graph_);
    ASSIGN_OR_RETURN(const std::vector<ir::NodeId> order, graph_.topological_order());
    for (const ir::NodeId id : order) {
      if (!graph_.has_node(id)) continue;
      if (Status stop = check_stop("constants were folded"); !stop.ok())
        return std::move(stop).with_context(graph_.node(id).label());
      ASSIGN_OR_RETURN(const bool folded, fold(id));
      changes += folded ? 1 : 0;
    }
    return changes;
  }

 private:
  /// Replaces captures of constants in nested graphs by constants there.
  static size_t push_into_bodies(ir::Graph& graph) {
    size_t changes = 0;
    for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
      if (!graph.has_node(id) || !graph.node(id).has_subgraph()) continue;
      size_t here = 0;
      for (ir::Attribute& attribute : graph.mutable_node(id).attributes) {
        for (ir::GraphBox& body : attribute.graphs) {
          here += push_captured(graph, *body);
          changes += push_into_bodies(*body);
        }
      }
      if (here != 0) graph.refresh_captures(id);
      changes += here;
    }
    return changes;
  }

  static size_t push_captured(const ir::Graph& graph, ir::Graph& body) {
    size_t changes = 0;
    for (const ir::Capture& capture : std::vector<ir::Capture>(body.captures())) {
      const ir::Value& outer = graph.value(capture.outer);
      const ir::Value& inner = body.value(capture.inner);
      if (!outer.is_constant() || inner.uses.empty()) continue;
      const ir::ValueId constant = body.add_constant(inner.name, outer.constant);
      // An output of a nested graph stays a capture, because outputs are never constants.
      const std::vector<ir::Use> uses = inner.uses;
      if (inner.output_count == 0) {
        body.replace_uses(capture.inner, constant);
      } else {
        for (const ir::Use& use : uses) {
          if (use.input != ir::kNone) body.set_input(use.node, use.input, constant);
        }
        if (body.value(constant).uses.empty()) {
          body.remove_value(constant);
          continue;
        }
      }
      ++changes;
    }
    body.remove_unused_captures();
    return changes;
  }

  Result<bool> fold(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    if (any_output_of_graph(node)) return false;
    if (node.is("Constant")) return fold_constant_node(id);
    if (!options_.evaluator || !is_foldable(id)) return false;
    const Result<std::vector<ir::TensorPtr>> values = options_.evaluator(graph_of(node));
    if (!values.ok() && is_stopped(values.status())) return values.status();
    // The provider may lack the operator or memory. The node then stays and runs as usual.
    if (!values.ok() || values->size() != count_outputs(node)) return false;
    const std::vector<ir::ValueId> outputs = node.outputs;
    int64_t made = 0;
    for (const ir::TensorPtr& value : *values) {
      if (value == nullptr) return false;
      made += static_cast<int64_t>(value->byte_size());
    }
    // Less than 0 where the last reader of a large constant makes a small one.
    const int64_t growth = made - bytes_let_go(id);
    if (growth > room()) return false;
    budget_.grown += growth;
    size_t next = 0;
    for (const ir::ValueId output : outputs) {
      if (output != ir::kNone) graph_.set_constant(output, (*values)[next++]);
    }
    remove_if_unused(graph_, id);
    return true;
  }

  Result<bool> fold_constant_node(ir::NodeId id) {
    const ir::ValueId output = graph_.node(id).outputs.empty() ? ir::kNone : graph_.node(id).outputs[0];
    if (output == ir::kNone) return false;
    const Result<ir::TensorPtr> value = stated_value(graph_.node(id), options_.fold_bytes);
    if (!value.ok()) return Status(value.status()).with_context(graph_.node(id).label());
    if (*value == nullptr) return false;
    graph_.set_constant(output, *value);
    remove_if_unused(graph_, id);
    return true;
  }

  static int64_t constant_bytes(const ir::Graph& graph) {
    int64_t bytes = 0;
    for (ir::ValueId v = 0; v < graph.value_limit(); ++v) {
      if (graph.has_value(v) && graph.value(v).is_constant())
        bytes += static_cast<int64_t>(graph.value(v).constant->byte_size());
    }
    return bytes;
  }

  /// How many bytes folding may still add to the model.
  int64_t room() const {
    const int64_t worth = std::max(
        kFreeBytes, budget_.weights > INT64_MAX / kMaxGrowth ? INT64_MAX : budget_.weights * kMaxGrowth);
    return std::min(options_.fold_bytes, worth) - budget_.grown;
  }

  /// Bytes of the constants that only this node uses.
  int64_t bytes_let_go(ir::NodeId id) const {
    int64_t bytes = 0;
    const std::vector<ir::ValueId>& inputs = graph_.node(id).inputs;
    for (auto input = inputs.begin(); input != inputs.end(); ++input) {
      if (*input == ir::kNone || std::find(inputs.begin(), input, *input) != input) continue;
      const ir::Value& value = graph_.value(*input);
      const bool others = std::any_of(value.uses.begin(), value.uses.end(),
                                      [id](const ir::Use& use) { return use.node != id; });
      if (!others && value.output_count == 0) bytes += static_cast<int64_t>(value.constant->byte_size());
    }
    return bytes;
  }

  bool any_output_of_graph(const ir::Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [this](ir::ValueId output) {
      return output != ir::kNone && graph_.value(output).output_count != 0;
    });
  }

  static size_t count_outputs(const ir::Node& node) {
    return node.outputs.size() -
           static_cast<size_t>(std::count(node.outputs.begin(), node.outputs.end(), ir::kNone));
  }

  bool is_foldable(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    // Keep quantised weights: providers claim them together with the operator after them.
    if (node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear") return false;
    if (ops::is_nondeterministic(node)) return false;
    int64_t read = 0;
    for (const ir::ValueId input : node.inputs) {
      if (input == ir::kNone) continue;
      if (!graph_.value(input).is_constant()) return false;
      read += static_cast<int64_t>(graph_.value(input).constant->byte_size());
    }
    for (const ir::Attribute& attribute : node.attributes) {
      for (const ir::GraphBox& body : attribute.graphs) {
        for (const ir::Capture& capture : body->captures()) {
          if (!graph_.value(capture.outer).is_constant()) return false;
        }
      }
    }
    return fits(id, read);
  }

  bool fits(ir::NodeId id, int64_t read) const {
    const ir::Node& node = graph_.node(id);
    int64_t made = 0;
    for (const ir::ValueId output : node.outputs) {
      if (output == ir::kNone) continue;
      const ir::Type& type = graph_.value(output).type;
      if (!type.is_tensor()) return false;
      const int64_t bytes = bytes_of(type);
      if (bytes < 0 && (read > kMaxUnknown || ops::is_control_flow(node))) return false;
      if (bytes > options_.fold_bytes - made) return false;
      made += std::max<int64_t>(bytes, 0);
    }
    return made <= std::max(kFreeBytes, read * kMaxGrowth) && made - bytes_let_go(id) <= room();
  }

  ir::Graph graph_of(const ir::Node& original) const {
    ir::Graph graph;
    graph.name = original.name;
    ir::Node node = original;
    std::map<ir::ValueId, ir::ValueId> known;
    auto place = [&](ir::ValueId outer) {
      const auto found = known.find(outer);
      if (found != known.end()) return found->second;
      return known[outer] = graph.add_constant(graph_.value(outer).name, graph_.value(outer).constant);
    };
    for (ir::ValueId& input : node.inputs) {
      if (input != ir::kNone) input = place(input);
    }
    for (ir::Attribute& attribute : node.attributes) {
      for (ir::GraphBox& body : attribute.graphs) {
        std::vector<ir::ValueId> map(graph_.value_limit(), ir::kNone);
        for (const ir::Capture& capture : body->captures()) map[capture.outer] = place(capture.outer);
        body->remap_captures(map);
      }
    }
    for (ir::ValueId& output : node.outputs) {
      if (output == ir::kNone) continue;
      output = graph.add_value(graph_.value(output).name, graph_.value(output).type);
    }
    const std::vector<ir::ValueId> outputs = node.outputs;
    graph.add_node(std::move(node));
    for (const ir::ValueId output : outputs) {
      if (output != ir::kNone) graph.add_output(output);
    }
    return graph;
  }

  const Options& options_;
  ir::Graph& graph_;
  FoldBudget& budget_;
};

}  // namespace

Result<size_t> fold_constants(Surroundings& around, ir::Graph& graph) { return Folder(around, graph).run(); }

}  // namespace tenon::transform
