#include <map>

#include "host/compile/expand.h"
#include "host/session/describe.h"

namespace tenon::session {
namespace {

Json describe_values(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  Json list = Json::array();
  for (ir::ValueId v : values)
    list.push_back({{"name", graph.value(v).name}, {"type", graph.value(v).type.to_string()}});
  return list;
}

struct Totals {
  std::map<std::string, int64_t> operators;
  uint64_t parameter_bytes = 0;
  int64_t parameters = 0;  // elements
};

void add(const ir::Tensor& parameter, Totals* totals) {
  totals->parameter_bytes += parameter.byte_size();
  totals->parameters += parameter.element_count();
}

void add(const ir::Graph& graph, Totals* totals) {
  for (ir::ValueId v = 0; v < graph.value_limit(); ++v) {
    if (graph.has_value(v) && graph.value(v).is_constant()) add(*graph.value(v).constant, totals);
  }
  // An initializer that is also an input is stored as the default of that input.
  for (const auto& [input, value] : graph.defaults()) add(*value, totals);
  for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
    if (!graph.has_node(id)) continue;
    const ir::Node& node = graph.node(id);
    ++totals->operators[node.domain.empty() ? node.op_type : node.domain + ":" + node.op_type];
    for (const ir::Attribute& attribute : node.attributes) {
      for (const ir::GraphBox& nested : attribute.graphs) add(*nested, totals);
    }
  }
}

}  // namespace

Json describe_model(const ir::ModelInfo& model, const ir::Graph& graph) {
  Totals totals;
  add(graph, &totals);
  Json out;
  out["path"] = model.path;
  out["graph"] = graph.name;
  out["ir_version"] = model.ir_version;
  out["producer"] = model.producer_name;
  out["producer_version"] = model.producer_version;
  out["opsets"] = Json::object();
  for (const auto& [domain, version] : model.opset_imports)
    out["opsets"][domain.empty() ? "ai.onnx" : domain] = version;
  out["inputs"] = describe_values(graph, graph.inputs());
  out["outputs"] = describe_values(graph, graph.outputs());
  out["nodes"] = runtime::count_nodes(graph);
  out["operators"] = totals.operators;
  out["parameters"] = totals.parameters;
  out["parameter_bytes"] = totals.parameter_bytes;
  out["functions"] = Json::array();
  for (const ir::Function& function : model.functions)
    out["functions"].push_back(function.domain + ":" + function.name);
  out["metadata"] = model.metadata;
  out["doc"] = model.doc;
  return out;
}

}  // namespace tenon::session
