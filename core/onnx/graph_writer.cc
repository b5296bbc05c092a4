#include "core/onnx/graph_writer.h"

#include "core/proto/attribute.h"
#include "core/proto/tensor.h"
#include "core/proto/type.h"

namespace tenon::onnx {
namespace {

using ir::kNone;
using ir::ValueId;

void write_value_info(const std::string& name, const ir::Type& type, pb::ValueInfoProto* out) {
  out->set_name(name);
  if (!(type == ir::Type())) proto::write_type(type, out->mutable_type());
}

std::vector<ir::NodeId> order_of(const ir::Graph& graph) {
  auto order = graph.topological_order();
  return order.ok() ? std::move(order).value() : std::vector<ir::NodeId>();
}

}  // namespace

GraphWriter::GraphWriter(const ir::Graph& graph, const GraphWriter* outer)
    : graph_(graph), outer_(outer), names_(graph.value_limit()) {
  std::set<std::string_view> captured;
  for (const ir::Capture& capture : graph.captures()) {
    names_[capture.inner] = outer_->name_of(capture.outer);
    captured.insert(names_[capture.inner]);
  }
  for (ValueId id = 0; id < graph.value_limit(); ++id) {
    if (!graph.has_value(id) || graph.value(id).is_capture) continue;
    const ir::Value& value = graph.value(id);
    std::string name = value.name;
    // An input may hide an outer value, which this graph does not use then. Some operators look up inputs by name.
    auto taken = [&] {
      return used_.count(name) != 0 || captured.count(name) != 0 ||
             (!value.is_input && is_taken_around(name));
    };
    for (int suffix = 1; taken(); ++suffix) name = value.name + "_" + std::to_string(suffix);
    used_.insert(name);
    names_[id] = std::move(name);
  }
}

bool GraphWriter::is_taken_around(const std::string& name) const {
  for (const GraphWriter* writer = outer_; writer; writer = writer->outer_) {
    if (writer->used_.count(name) != 0) return true;
  }
  return false;
}

const std::string& GraphWriter::name_of(ValueId id) const {
  static const std::string kMissing;
  return id == kNone ? kMissing : names_[id];
}

/// As a graph output, a constant becomes a Constant node: other runtimes do not expect an initializer there.
bool GraphWriter::is_constant_node(ValueId id) const {
  return graph_.value(id).is_constant() && graph_.value(id).output_count != 0;
}

void GraphWriter::write(pb::GraphProto* out, bool constants_are_inputs) const {
  out->set_name(graph_.name);
  if (!graph_.doc.empty()) out->set_doc_string(graph_.doc);
  for (ValueId id : graph_.inputs()) write_value_info(name_of(id), graph_.value(id).type, out->add_input());
  auto add_initializer = [&](ValueId id, const ir::Tensor& tensor) {
    proto::write_tensor(tensor, out->add_initializer());
    out->mutable_initializer()->rbegin()->set_name(name_of(id));
  };
  for (const ir::Default& entry : graph_.defaults()) add_initializer(entry.input, *entry.value);
  for (ValueId id = 0; id < graph_.value_limit(); ++id) {
    if (!graph_.has_value(id) || !graph_.value(id).is_constant()) continue;
    const ir::Value& value = graph_.value(id);
    if (is_constant_node(id)) {
      write_constant_node(id, out->add_node());
    } else if (!value.uses.empty()) {
      add_initializer(id, *value.constant);
      if (constants_are_inputs) write_value_info(name_of(id), value.type, out->add_input());
    }
  }
  write_nodes(out);
  write_value_types(out);
  for (ValueId id : graph_.outputs()) write_value_info(name_of(id), graph_.value(id).type, out->add_output());
}

void GraphWriter::write_function_body(pb::FunctionProto* out) const {
  for (ValueId id : graph_.inputs()) out->add_input(name_of(id));
  for (ValueId id : graph_.outputs()) out->add_output(name_of(id));
  for (ValueId id = 0; id < graph_.value_limit(); ++id) {
    if (graph_.has_value(id) && graph_.value(id).is_constant()) write_constant_node(id, out->add_node());
  }
  write_nodes(out);
  write_value_types(out);
}

template <class Proto>
void GraphWriter::write_nodes(Proto* out) const {
  for (ir::NodeId id : order_of(graph_)) write_node(graph_.node(id), out->add_node());
}

template <class Proto>
void GraphWriter::write_value_types(Proto* out) const {
  for (ValueId id = 0; id < graph_.value_limit(); ++id) {
    if (!graph_.has_value(id)) continue;
    const ir::Value& value = graph_.value(id);
    if (value.producer == kNone || value.output_count != 0 || value.type == ir::Type()) continue;
    write_value_info(name_of(id), value.type, out->add_value_info());
  }
}

void GraphWriter::write_constant_node(ValueId id, pb::NodeProto* out) const {
  out->set_op_type("Constant");
  out->set_name("Constant_" + name_of(id));
  out->add_output(name_of(id));
  pb::AttributeProto* value = out->add_attribute();
  value->set_name("value");
  value->set_type(pb::AttributeProto::TENSOR);
  proto::write_tensor(*graph_.value(id).constant, value->mutable_t());
}

void GraphWriter::write_node(const ir::Node& node, pb::NodeProto* out) const {
  out->set_name(node.name);
  out->set_op_type(node.op_type);
  if (!node.domain.empty()) out->set_domain(node.domain);
  if (!node.overload.empty()) out->set_overload(node.overload);
  if (!node.doc.empty()) out->set_doc_string(node.doc);
  for (ValueId id : node.inputs) out->add_input(name_of(id));
  for (ValueId id : node.outputs) out->add_output(name_of(id));
  for (const ir::Attribute& attribute : node.attributes) write_attribute(attribute, out->add_attribute());
}

void GraphWriter::write_attribute(const ir::Attribute& attribute, pb::AttributeProto* out) const {
  const auto write_graph = [this](const ir::Graph& graph, pb::GraphProto* nested) {
    GraphWriter(graph, this).write(nested, false);
  };
  proto::write_attribute(attribute, write_graph, out);
}

}  // namespace tenon::onnx
