#include "core/onnx/model_reader.h"

#include "core/base/quote.h"
#include "core/onnx/graph_reader.h"
#include "core/onnx/names.h"
#include "core/ops/ops.h"

namespace tenon::onnx {
namespace {

using OpsetImports = std::map<std::string, int64_t>;
using OpsetList = google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>;

Status check_ir_version(const pb::ModelProto& proto) {
  int64_t version = proto.ir_version();
  if (!proto.has_ir_version() || version < 1) {
    return invalid_model("ir_version is ", version,
                         "; every ONNX model has version 1 or more, so this is not a model");
  }
  if (version > pb::Version::IR_VERSION) {
    return unsupported("the model has IR version ", version, ", but this Tenon reads up to ",
                       static_cast<int64_t>(pb::Version::IR_VERSION),
                       "; export it with an older onnx package, or update Tenon");
  }
  return ok_status();
}

Status check_opset(const std::string& domain, int64_t version) {
  std::string_view shown = shown_domain(domain);
  if (version < 1) return invalid_model("opset ", version, " of domain ", quote(shown), " does not exist");
  int64_t latest = ops::latest_opset(domain);
  if (latest == 0 || version <= latest) return ok_status();
  return unsupported("the model needs opset ", version, " of domain ", quote(shown),
                     ", but this Tenon knows up to ", latest, "; convert the model to opset ", latest,
                     ", or update Tenon");
}

using NodeList = google::protobuf::RepeatedPtrField<pb::NodeProto>;

/// Whether a node writes its domain as `domain`.
bool writes_domain(const NodeList& nodes, std::string_view domain) {
  for (const pb::NodeProto& node : nodes) {
    if (node.domain() == domain) return true;
    for (const pb::AttributeProto& attribute : node.attribute()) {
      if (writes_domain(attribute.g().node(), domain)) return true;
      for (const pb::GraphProto& graph : attribute.graphs()) {
        if (writes_domain(graph.node(), domain)) return true;
      }
    }
  }
  return false;
}

/// ai.onnx is imported as "" and as "ai.onnx", with two versions. Chooses that of the name that the nodes use.
Status choose_between_names(const NodeList& nodes, bool named_in_full, int64_t version, int64_t* chosen) {
  const bool in_full = writes_domain(nodes, "ai.onnx"), empty = writes_domain(nodes, "");
  if (in_full && empty) {
    return invalid_model(
        "opset_import names domain 'ai.onnx' twice, as \"\" and as \"ai.onnx\", with versions ", *chosen,
        " and ", version, ", and nodes use both names; keep one");
  }
  if (in_full == named_in_full) *chosen = version;
  return ok_status();
}

Result<OpsetImports> read_opsets(const OpsetList& list, const NodeList& nodes) {
  OpsetImports imports;
  std::map<std::string, std::string> written;  // domain -> its first spelling in the list
  for (const auto& entry : list) {
    std::string domain = normal_domain(entry.domain());
    RETURN_IF_ERROR(check_name("domain", domain));
    RETURN_IF_ERROR(check_opset(domain, entry.version()));
    auto added = imports.emplace(domain, entry.version());
    const std::string& first = written.emplace(domain, entry.domain()).first->second;
    if (added.second || added.first->second == entry.version()) continue;
    if (first != entry.domain()) {
      RETURN_IF_ERROR(
          choose_between_names(nodes, !entry.domain().empty(), entry.version(), &added.first->second));
    } else {
      return invalid_model("opset_import names domain ", quote(shown_domain(domain)),
                           " twice, with versions ", added.first->second, " and ", entry.version());
    }
  }
  return imports;
}

Result<OpsetImports> read_model_opsets(const pb::ModelProto& proto) {
  ASSIGN_OR_RETURN(OpsetImports imports, read_opsets(proto.opset_import(), proto.graph().node()));
  if (!imports.empty()) return imports;
  // IR versions 1 and 2 had no opsets; their operators are those of opset 1.
  if (proto.ir_version() < 3) return OpsetImports{{"", 1}};
  return invalid_model("the model has no opset_import; add the opset of its operators, or export it again");
}

Result<ir::Function> read_function(const pb::FunctionProto& proto, ReadState state) {
  ir::Function function;
  function.domain = normal_domain(proto.domain());
  function.name = proto.name();
  function.overload = proto.overload();
  if (function.name.empty()) return invalid_model("a function has no name");
  RETURN_IF_ERROR(check_name("function", function.name));
  RETURN_IF_ERROR(check_name("function's domain", function.domain));
  ASSIGN_OR_RETURN(function.opset_imports, read_opsets(proto.opset_import(), proto.node()));
  if (function.opset_imports.empty()) {
    return invalid_model("the function has no opset_import; add the opset of its operators");
  }
  std::set<std::string, std::less<>> attributes(proto.attribute().begin(), proto.attribute().end());
  function.attributes.assign(proto.attribute().begin(), proto.attribute().end());
  for (const auto& entry : proto.attribute_proto()) attributes.insert(entry.name());
  state.opset_imports = &function.opset_imports;
  state.attributes = &attributes;
  GraphReader reader(state, nullptr);
  for (const auto& entry : proto.attribute_proto()) {
    ASSIGN_OR_RETURN(function.attribute_defaults.emplace_back(), reader.read_attribute(entry));
  }
  ASSIGN_OR_RETURN(function.body, reader.read_function_body(proto));
  return function;
}

Status read_functions(const pb::ModelProto& proto, const ReadState& state, ir::Model& model) {
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (const auto& entry : proto.functions()) {
    auto function = read_function(entry, state);
    std::string place = "function " + quote(entry.domain() + "." + entry.name());
    if (!function.ok()) return std::move(function).error().with_context(place);
    if (!seen.emplace(function->domain, function->name, function->overload).second) {
      return invalid_model("two functions have this name").with_context(place);
    }
    model.functions.push_back(std::move(function).value());
  }
  return ok_status();
}

void note_unused_dims(const ReadState& state) {
  if (state.limits.given == nullptr || state.limits.notices == nullptr) return;
  for (const auto& [name, size] : state.limits.given->dims) {
    if (state.used_dims.count(name) == 0)
      state.limits.notices->push_back(
          str_cat("a size is given for dim ", quote(name), ", which the model does not have"));
  }
}

}  // namespace

Result<ir::Model> read_model(const pb::ModelProto& proto, TensorReader& tensors, const Limits& limits) {
  RETURN_IF_ERROR(check_ir_version(proto));
  if (!proto.has_graph())
    return invalid_model("the file has no graph; check that it is a complete ONNX model");
  ir::Model model;
  model.ir_version = proto.ir_version();
  ASSIGN_OR_RETURN(model.opset_imports, read_model_opsets(proto));
  model.producer_name = proto.producer_name();
  model.producer_version = proto.producer_version();
  model.domain = proto.domain();
  model.doc = proto.doc_string();
  model.model_version = proto.model_version();
  for (const auto& entry : proto.metadata_props()) model.metadata[entry.key()] = entry.value();

  ReadState state{tensors, limits};
  state.ir_version = model.ir_version;
  state.opset_imports = &model.opset_imports;
  RETURN_IF_ERROR(read_functions(proto, state, model));
  ASSIGN_OR_RETURN(model.graph, GraphReader(state, nullptr).read(proto.graph()));
  note_unused_dims(state);
  return model;
}

}  // namespace tenon::onnx
