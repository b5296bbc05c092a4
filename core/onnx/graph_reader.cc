#include "core/onnx/graph_reader.h"

#include <algorithm>

#include "core/base/nearest.h"
#include "core/base/quote.h"
#include "core/base/stop.h"
#include "core/onnx/names.h"
#include "core/ops/ops.h"
#include "core/proto/tensor.h"
#include "core/proto/type.h"

namespace tenon::onnx {
namespace {

using ir::kNone;
using ir::ValueId;

/// From this IR version on, a graph input may have an initializer as its default. Before, every initializer had to
/// be an input as well, and callers could not rely on overriding it.
constexpr int64_t kFirstVersionWithDefaults = 4;

std::string value_label(std::string_view kind, std::string_view name) {
  return std::string(kind) + " " + quote(name);
}

bool says_enough(const ir::Type& type) {
  bool lacks_element = type.is_tensor() && type.element == ir::ElementType::kUndefined;
  return type.kind != ir::ValueKind::kUnknown && !lacks_element;
}

Status check_default(const ir::Type& declared, const ir::Tensor& tensor) {
  if (!says_enough(declared)) return ok_status();
  ir::Type actual = ir::Type::tensor(tensor.type(), tensor.shape());
  bool fits = declared.is_tensor() && declared.element == actual.element;
  if (fits && declared.shape.has_rank) {
    fits = declared.shape.rank() == actual.shape.rank();
    for (size_t i = 0; fits && i < declared.shape.rank(); ++i) {
      fits = !declared.shape.dims[i].known() || declared.shape.dims[i].value == actual.shape.dims[i].value;
    }
  }
  if (fits) return ok_status();
  return invalid_model("the input is declared as ", declared.to_string(), " and its initializer is ",
                       actual.to_string());
}

Status check_unique_attributes(const pb::NodeProto& proto) {
  std::vector<std::string_view> names;
  for (const auto& attribute : proto.attribute()) names.push_back(attribute.name());
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return ok_status();
  return invalid_model("attribute ", quote(*twice), " is given twice");
}

/// Trailing empty names mean the same as no names.
template <class Names>
int used_count(const Names& names) {
  int count = names.size();
  while (count > 0 && names[count - 1].empty()) --count;
  return count;
}

}  // namespace

Result<ir::Node> read_node_head(const pb::NodeProto& proto, int index) {
  ir::Node node;
  node.op_type = proto.op_type();
  node.name = proto.name().empty() ? node.op_type + "_" + std::to_string(index) : proto.name();
  node.domain = normal_domain(proto.domain());
  node.overload = proto.overload();
  node.doc = proto.doc_string();
  RETURN_IF_ERROR(check_name("node", node.name));
  for (const std::string* name : {&node.op_type, &node.domain, &node.overload}) {
    Status status = check_name("node's operator", *name);
    if (!status.ok()) return std::move(status).with_context("node " + quote(node.name));
  }
  if (!node.op_type.empty()) return node;
  return invalid_model("the node has no operator").with_context("node " + quote(node.name));
}

Result<ir::Graph> GraphReader::read(const pb::GraphProto& proto) {
  graph_.name =
      proto.name().empty() ? "graph" : proto.name();  // ONNX requires a name, but some exporters give none
  graph_.doc = proto.doc_string();
  if (outer_ == nullptr) RETURN_IF_ERROR(check_given(proto));
  RETURN_IF_ERROR(read_initializers(proto));
  RETURN_IF_ERROR(read_inputs(proto.input()));
  add_constants();
  RETURN_IF_ERROR(declare_outputs(proto.node()));
  RETURN_IF_ERROR(read_types(proto.output()));
  RETURN_IF_ERROR(read_types(proto.value_info()));
  RETURN_IF_ERROR(read_nodes(proto.node()));
  std::vector<std::string> outputs;
  for (const auto& output : proto.output()) outputs.push_back(output.name());
  RETURN_IF_ERROR(read_outputs(outputs));
  return std::move(graph_);
}

Result<ir::Graph> GraphReader::read_function_body(const pb::FunctionProto& proto) {
  graph_.name = proto.name();
  for (const std::string& name : proto.input()) {
    RETURN_IF_ERROR(declare("function input", name));
    graph_.add_input(graph_.add_value(name));
  }
  RETURN_IF_ERROR(declare_outputs(proto.node()));
  RETURN_IF_ERROR(read_types(proto.value_info()));
  RETURN_IF_ERROR(read_nodes(proto.node()));
  RETURN_IF_ERROR(read_outputs({proto.output().begin(), proto.output().end()}));
  return std::move(graph_);
}

Status GraphReader::read_initializers(const pb::GraphProto& proto) {
  for (const auto& tensor : proto.initializer()) {
    RETURN_IF_ERROR(hold_initializer(tensor.name(), read_initializer(tensor)));
  }
  for (const auto& tensor : proto.sparse_initializer()) {
    auto sparse = state_.tensors.read_sparse(tensor);
    Result<ir::TensorPtr> dense = sparse.ok() ? to_dense(*sparse, state_.limits.fold_bytes)
                                              : Result<ir::TensorPtr>(std::move(sparse).error());
    RETURN_IF_ERROR(hold_initializer(tensor.values().name(), std::move(dense)));
  }
  return ok_status();
}

Status GraphReader::check_given(const pb::GraphProto& proto) const {
  if (state_.limits.given == nullptr) return ok_status();
  for (const auto& [name, tensor] : state_.limits.given->initializers) {
    const auto is_named = [&name = name](const pb::TensorProto& each) { return each.name() == name; };
    if (std::any_of(proto.initializer().begin(), proto.initializer().end(), is_named)) continue;
    Nearest near(name);
    for (const auto& each : proto.initializer()) near.look_at(each.name());
    return Status(
        StatusCode::kNotFound,
        str_cat("a value is given for initializer ", quote(name), ", which the model does not have",
                near.name().empty() ? std::string() : str_cat("; did you mean ", quote(near.name()), "?")),
        ErrorKind::kInvalidInput);
  }
  return ok_status();
}

Result<ir::TensorPtr> GraphReader::read_initializer(const pb::TensorProto& proto) {
  if (outer_ != nullptr || state_.limits.given == nullptr) return state_.tensors.read(proto);
  const auto& given = state_.limits.given->initializers;
  const auto at = given.find(proto.name());
  if (at == given.end()) return state_.tensors.read(proto);
  ASSIGN_OR_RETURN(const ir::ElementType element, proto::read_element_type(proto.data_type()));
  const std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
  if (at->second->type() == element && at->second->dims() == dims) return at->second;
  return invalid_input("the model has ", ir::Type::tensor(element, ir::Shape::of(dims)).to_string(),
                       ", but the value given for it is ",
                       ir::Type::tensor(at->second->type(), at->second->shape()).to_string());
}

ir::Type GraphReader::with_given_dims(ir::Type type) {
  if (state_.limits.given == nullptr || state_.limits.given->dims.empty()) return type;
  for (ir::Dim& dim : type.shape.dims) {
    const auto at =
        dim.known() ? state_.limits.given->dims.end() : state_.limits.given->dims.find(dim.symbol);
    if (at == state_.limits.given->dims.end()) continue;
    state_.used_dims.insert(at->first);
    dim = ir::Dim(at->second);
  }
  if (type.inner != nullptr) type.inner = std::make_shared<const ir::Type>(with_given_dims(*type.inner));
  return type;
}

Status GraphReader::hold_initializer(const std::string& name, Result<ir::TensorPtr> tensor) {
  if (name.empty()) return invalid_model("an initializer has no name");
  RETURN_IF_ERROR(check_name("initializer", name));
  if (!tensor.ok()) return std::move(tensor).error().with_context(value_label("initializer", name));
  const auto known = initializer_names_.find(name);
  if (known != initializer_names_.end()) {
    if (initializers_[known->second].tensor->same_as(**tensor)) return ok_status();
    return invalid_model("two initializers have this name").with_context(value_label("initializer", name));
  }
  initializer_names_.emplace(name, initializers_.size());
  initializers_.push_back({name, std::move(tensor).value()});
  return ok_status();
}

Status GraphReader::read_inputs(const ValueList& inputs) {
  for (const auto& input : inputs) {
    RETURN_IF_ERROR(declare("input", input.name()));
    Status status = read_input(input);
    if (!status.ok()) return std::move(status).with_context(value_label("input", input.name()));
  }
  return ok_status();
}

Status GraphReader::read_input(const pb::ValueInfoProto& proto) {
  ASSIGN_OR_RETURN(ir::Type type, proto::read_type(proto.type()));
  type = with_given_dims(std::move(type));
  auto found = initializer_names_.find(proto.name());
  if (found != initializer_names_.end()) {
    Initializer& initializer = initializers_[found->second];
    RETURN_IF_ERROR(check_default(type, *initializer.tensor));
    if (state_.ir_version < kFirstVersionWithDefaults) return ok_status();
    initializer.is_input = true;
    if (!says_enough(type)) type = ir::Type::tensor(initializer.tensor->type(), initializer.tensor->shape());
  }
  // Inputs of a nested graph get their types from the outer node.
  if (!says_enough(type) && !outer_) {
    return invalid_model("the input has no type; export the model again with types");
  }
  ValueId value = graph_.add_value(proto.name(), std::move(type));
  graph_.add_input(value);
  if (found != initializer_names_.end()) graph_.add_default(value, initializers_[found->second].tensor);
  return ok_status();
}

void GraphReader::add_constants() {
  for (const Initializer& initializer : initializers_) {
    if (!initializer.is_input) graph_.add_constant(initializer.name, initializer.tensor);
  }
}

/// Checks a name before it is defined in this graph.
Status GraphReader::declare(std::string_view kind, const std::string& name) {
  if (name.empty()) return invalid_model("a graph ", kind, " has no name");
  RETURN_IF_ERROR(check_name("value", name));
  ValueId existing = graph_.find_value(name);
  if (existing == kNone) return ok_status();
  const ir::Value& value = graph_.value(existing);
  const char* source = value.is_input        ? "a graph input"
                       : value.is_constant() ? "a constant"
                                             : "another node's output";
  return invalid_model("value ", quote(name), " is defined twice: it is ", source, " already");
}

Status GraphReader::declare_outputs(const NodeList& nodes) {
  node_starts_.reserve(static_cast<size_t>(nodes.size()));
  for (int i = 0; i < nodes.size(); ++i) {
    node_starts_.push_back(graph_.value_limit());
    undefined_from_ = graph_.value_limit();
    Status status = declare_node(nodes[i]);
    if (status.ok()) continue;
    ASSIGN_OR_RETURN(ir::Node head, read_node_head(nodes[i], i));
    return std::move(status).with_context(head.label());
  }
  return ok_status();
}

Status GraphReader::declare_node(const pb::NodeProto& proto) {
  for (const std::string& name : proto.output()) {
    if (name.empty()) continue;
    const bool constant = is_plain_constant(proto);
    ir::TensorPtr tensor;
    if (constant) {
      ASSIGN_OR_RETURN(tensor, read_constant(proto));
      if (is_equal_constant(name, *tensor)) continue;
    }
    RETURN_IF_ERROR(declare("output", name));
    // ONNX lets inputs and initializers of a nested graph hide an outer value, but not the output of a node.
    if (defined_around(name)) {
      return invalid_model("value ", quote(name),
                           " is defined twice: in this nested graph and in an outer graph");
    }
    if (constant) {
      graph_.add_constant(name, std::move(tensor));
    } else {
      graph_.add_value(name);
    }
  }
  return ok_status();
}

/// Some optimizers leave a constant behind twice. Equal ones are accepted.
bool GraphReader::is_equal_constant(const std::string& name, const ir::Tensor& tensor) const {
  const ValueId existing = graph_.find_value(name);
  return existing != kNone && graph_.value(existing).is_constant() &&
         graph_.value(existing).constant->same_as(tensor);
}

bool GraphReader::defined_around(const std::string& name) const {
  for (const GraphReader* reader = outer_; reader; reader = reader->outer_) {
    ValueId found = reader->graph_.find_value(name);
    if (found != kNone && found < reader->undefined_from_) return true;
  }
  return false;
}

Status GraphReader::read_types(const ValueList& values) {
  for (const auto& proto : values) {
    ValueId value = graph_.find_value(proto.name());
    if (value == kNone) continue;  // a removed node's value, or a missing output: see read_outputs
    auto type = proto::read_type(proto.type());
    if (!type.ok()) return std::move(type).error().with_context(value_label("value", proto.name()));
    if (graph_.value(value).type == ir::Type())
      graph_.set_type(value, with_given_dims(std::move(type).value()));
  }
  return ok_status();
}

Status GraphReader::read_nodes(const NodeList& nodes) {
  for (int i = 0; i < nodes.size(); ++i) {
    if (is_plain_constant(nodes[i])) continue;
    RETURN_IF_ERROR(check_stop("the model was read"));
    ASSIGN_OR_RETURN(ir::Node node, read_node_head(nodes[i], i));
    undefined_from_ = node_starts_[static_cast<size_t>(i)];
    Status status = read_node(nodes[i], node);
    if (!status.ok()) return std::move(status).with_context(node.label());
    graph_.add_node(std::move(node));
  }
  return ok_status();
}

/// Published models may lack the import of a domain. A custom domain then gets version 1. A standard domain gets
/// its newest version, as in other runtimes. Only ai.onnx is refused, because its version would be a guess.
Status GraphReader::check_domain(const std::string& domain) {
  if (state_.opset_imports->find(domain) != state_.opset_imports->end()) return ok_status();
  const int64_t latest = ops::latest_opset(domain);
  if (latest != 0 && domain.empty()) {
    return invalid_model("the node uses domain ", quote(shown_domain(domain)),
                         ", which opset_import does not list; add the domain and its version there");
  }
  state_.opset_imports->emplace(domain, latest == 0 ? 1 : latest);
  if (latest != 0 && state_.limits.notices != nullptr) {
    state_.limits.notices->push_back(str_cat(
        "opset_import does not list domain ", quote(shown_domain(domain)),
        ", which nodes use; its newest version, ", latest, ", is assumed. Add the domain to opset_import"));
  }
  return ok_status();
}

Status GraphReader::read_node(const pb::NodeProto& proto, ir::Node& node) {
  RETURN_IF_ERROR(check_domain(node.domain));
  int inputs = used_count(proto.input()), outputs = used_count(proto.output());
  for (int i = 0; i < inputs; ++i) {
    const std::string& name = proto.input(i);
    node.inputs.push_back(name.empty() ? kNone : resolve(name));
    if (!name.empty() && node.inputs.back() == kNone) {
      return invalid_model("input ", i, " is ", quote(name), ", which no node, input or initializer defines");
    }
  }
  for (int i = 0; i < outputs; ++i) {
    node.outputs.push_back(proto.output(i).empty() ? kNone : graph_.find_value(proto.output(i)));
  }
  return read_node_attributes(proto, node);
}

Status GraphReader::read_node_attributes(const pb::NodeProto& proto, ir::Node& node) {
  RETURN_IF_ERROR(check_unique_attributes(proto));
  node.attributes.reserve(static_cast<size_t>(proto.attribute_size()));
  for (const auto& attribute_proto : proto.attribute()) {
    auto attribute = read_attribute(attribute_proto);
    if (!attribute.ok()) {
      return std::move(attribute).error().with_context("attribute " + quote(attribute_proto.name()));
    }
    node.attributes.push_back(std::move(attribute).value());
  }
  return ok_status();
}

ValueId GraphReader::resolve(const std::string& name) {
  ValueId here = graph_.find_value(name);
  if (here != kNone || !outer_) return here;
  ValueId around = outer_->resolve(name);
  if (around == kNone) return kNone;
  return graph_.add_capture(around, name, outer_->graph_.value(around).type);
}

Status GraphReader::read_outputs(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.empty()) return invalid_model("a graph output has no name");
    ValueId value = resolve(name);
    if (value == kNone) {
      return invalid_model("graph output ", quote(name),
                           " is not a node output, a graph input or an initializer");
    }
    graph_.add_output(value);
  }
  return ok_status();
}

}  // namespace tenon::onnx
