// Checks every invariant that graph.h states, from scratch.
#include <algorithm>

#include "core/base/quote.h"
#include "core/ir/graph.h"

namespace tenon::ir {

class GraphVerifier {
 public:
  explicit GraphVerifier(const Graph& graph) : graph_(graph) {}

  Status run() {
    RETURN_IF_ERROR(check_names());
    RETURN_IF_ERROR(check_border());
    for (ValueId id = 0; id < graph_.value_limit(); ++id) {
      if (graph_.has_value(id)) RETURN_IF_ERROR(check_value(id));
    }
    for (NodeId id = 0; id < graph_.node_limit(); ++id) {
      if (!graph_.has_node(id)) continue;
      Status status = check_node(id);
      if (!status.ok()) return std::move(status).with_context(graph_.node(id).label());
    }
    RETURN_IF_ERROR(check_use_counts());
    auto order = graph_.topological_order();
    return order.status();
  }

 private:
  Status check_names() const {
    size_t values = 0, nodes = 0;
    for (ValueId id = 0; id < graph_.value_limit(); ++id) {
      if (!graph_.has_value(id)) continue;
      ++values;
      if (graph_.find_value(graph_.value(id).name) != id) {
        return invalid_model("value ", quote(graph_.value(id).name), " is not found under its name");
      }
    }
    for (NodeId id = 0; id < graph_.node_limit(); ++id) {
      if (!graph_.has_node(id)) continue;
      ++nodes;
      auto found = graph_.node_names_.find(graph_.node(id).name);
      if (found == graph_.node_names_.end() || found->second != id) {
        return invalid_model(graph_.node(id).label(), " is not found under its name");
      }
    }
    if (values != graph_.value_names_.size() || nodes != graph_.node_names_.size() ||
        nodes != graph_.node_count()) {
      return invalid_model("the graph holds names of removed nodes or values");
    }
    return ok_status();
  }

  Status check_border() const {
    for (ValueId input : graph_.inputs()) {
      if (!graph_.has_value(input)) return invalid_model("a graph input was removed");
      if (!graph_.value(input).is_input)
        return invalid_model(label(input), " is a graph input, but not marked as one");
    }
    for (const Default& entry : graph_.defaults()) {
      if (!graph_.has_value(entry.input) || !graph_.value(entry.input).is_input || !entry.value) {
        return invalid_model("a default value does not belong to a graph input");
      }
    }
    for (const Capture& capture : graph_.captures()) {
      if (!graph_.has_value(capture.inner)) return invalid_model("a captured value was removed");
      if (!graph_.value(capture.inner).is_capture) {
        return invalid_model(label(capture.inner), " is captured, but not marked as captured");
      }
    }
    std::vector<uint32_t> counts(graph_.value_limit(), 0);
    for (ValueId output : graph_.outputs()) {
      if (!graph_.has_value(output)) return invalid_model("a graph output was removed");
      ++counts[output];
    }
    for (ValueId id = 0; id < graph_.value_limit(); ++id) {
      if (graph_.has_value(id) && graph_.value(id).output_count != counts[id]) {
        return invalid_model(label(id), " has the wrong output count");
      }
    }
    return ok_status();
  }

  Status check_value(ValueId id) const {
    const Value& value = graph_.value(id);
    int sources = (value.producer != kNone) + value.is_constant() + value.is_input + value.is_capture;
    if (sources > 1) return invalid_model(label(id), " comes from more than one place");
    if (sources == 0 && (!value.uses.empty() || value.output_count != 0)) {
      return invalid_model(label(id), " is used, but nothing produces it");
    }
    if (value.producer == kNone) return ok_status();
    if (!graph_.has_node(value.producer)) return invalid_model(label(id), " is produced by a removed node");
    const std::vector<ValueId>& outputs = graph_.node(value.producer).outputs;
    if (value.producer_output >= outputs.size() || outputs[value.producer_output] != id) {
      return invalid_model(label(id), " is not an output of its producer");
    }
    return ok_status();
  }

  Status check_node(NodeId id) {
    const Node& node = graph_.node(id);
    const Graph::NodeLinks& links = graph_.links_[id];
    if (links.input_use_index.size() != node.inputs.size())
      return invalid_model("the use lists do not match the inputs");
    for (uint32_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNone) continue;
      RETURN_IF_ERROR(check_use(node.inputs[i], {id, i}, links.input_use_index[i]));
    }
    for (uint32_t i = 0; i < node.outputs.size(); ++i) {
      ValueId output = node.outputs[i];
      if (output == kNone) continue;
      if (!graph_.has_value(output)) return invalid_model("output ", i, " is not a value of the graph");
      if (graph_.value(output).producer != id || graph_.value(output).producer_output != i) {
        return invalid_model(label(output), " is produced more than once");
      }
    }
    for (size_t i = 0; i < links.captured.size(); ++i) {
      RETURN_IF_ERROR(check_use(links.captured[i], {id, kNone}, links.captured_use_index[i]));
    }
    return check_nested(node, links.captured);
  }

  Status check_use(ValueId id, const Use& use, uint32_t use_index) {
    if (!graph_.has_value(id)) return invalid_model("an input is not a value of the graph");
    const std::vector<Use>& uses = graph_.value(id).uses;
    if (use_index >= uses.size() || !(uses[use_index] == use))
      return invalid_model(label(id), " does not list its use");
    ++use_count_;
    return ok_status();
  }

  Status check_nested(const Node& node, const std::vector<ValueId>& captured) {
    for (const Attribute& attribute : node.attributes) {
      for (const GraphBox& nested : attribute.graphs) {
        for (const Capture& capture : nested->captures()) {
          if (!std::binary_search(captured.begin(), captured.end(), capture.outer)) {
            return invalid_model("attribute ", quote(attribute.name),
                                 " captures a value that does not list it");
          }
        }
        Status status = GraphVerifier(*nested).run();
        if (!status.ok()) return std::move(status).with_context("attribute " + quote(attribute.name));
      }
    }
    return ok_status();
  }

  /// Every use was found in a list, so equal totals mean that the lists hold nothing else.
  Status check_use_counts() const {
    size_t listed = 0;
    for (ValueId id = 0; id < graph_.value_limit(); ++id) {
      if (graph_.has_value(id)) listed += graph_.value(id).uses.size();
    }
    if (listed != use_count_) return invalid_model("a value lists uses of removed nodes");
    return ok_status();
  }

  std::string label(ValueId id) const { return "value " + quote(graph_.value(id).name); }

  const Graph& graph_;
  size_t use_count_ = 0;
};

Status verify(const Graph& graph) { return GraphVerifier(graph).run(); }

}  // namespace tenon::ir
