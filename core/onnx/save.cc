#include <google/protobuf/arena.h>

#include <limits>

#include "core/base/quote.h"
#include "core/onnx/graph_writer.h"
#include "core/onnx/mapped_file.h"
#include "core/onnx/onnx.h"

namespace tenon::onnx {
namespace {

template <class Proto>
void write_opsets(const std::map<std::string, int64_t>& imports, Proto* out) {
  for (const auto& [domain, version] : imports) {
    auto* entry = out->add_opset_import();
    entry->set_domain(domain);
    entry->set_version(version);
  }
}

void write_function(const ir::Function& function, pb::FunctionProto* out) {
  out->set_domain(function.domain);
  out->set_name(function.name);
  if (!function.overload.empty()) out->set_overload(function.overload);
  for (const std::string& attribute : function.attributes) out->add_attribute(attribute);
  write_opsets(function.opset_imports, out);
  GraphWriter writer(function.body, nullptr);
  for (const ir::Attribute& entry : function.attribute_defaults) {
    writer.write_attribute(entry, out->add_attribute_proto());
  }
  writer.write_function_body(out);
}

void write_model(const ir::Model& model, pb::ModelProto* out) {
  out->set_ir_version(model.ir_version);
  write_opsets(model.opset_imports, out);
  if (!model.producer_name.empty()) out->set_producer_name(model.producer_name);
  if (!model.producer_version.empty()) out->set_producer_version(model.producer_version);
  if (!model.domain.empty()) out->set_domain(model.domain);
  if (!model.doc.empty()) out->set_doc_string(model.doc);
  if (model.model_version != 0) out->set_model_version(model.model_version);
  for (const auto& [key, value] : model.metadata) {
    auto* entry = out->add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  for (const ir::Function& function : model.functions) write_function(function, out->add_functions());
  GraphWriter(model.graph, nullptr).write(out->mutable_graph(), model.ir_version < 4);
}

}  // namespace

Result<std::string> save_bytes(const ir::Model& model) {
  RETURN_IF_ERROR(ir::verify(model.graph).with_context("saving a model"));
  google::protobuf::Arena arena;
  auto* proto = google::protobuf::Arena::CreateMessage<pb::ModelProto>(&arena);
  write_model(model, proto);
  size_t size = proto->ByteSizeLong();
  if (size > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return limit_exceeded(
        "the model takes ", size,
        " bytes, but a file with its weights inside is limited to 2 GiB; keep the model in its original "
        "form, with external data");
  }
  std::string bytes;
  if (!proto->SerializePartialToString(&bytes)) return internal_error("protobuf cannot write the model");
  return bytes;
}

Status save(const ir::Model& model, const std::string& path) {
  ASSIGN_OR_RETURN(std::string bytes, save_bytes(model));
  const std::error_code error = write_file(path, bytes);
  return error ? system_failure("cannot write", error.value()).with_context("file " + quote(path))
               : ok_status();
}

}  // namespace tenon::onnx
