// What a session tells without JSON: its provider instances, and what its model says about itself.
#include <iterator>

#include "host/api/border.h"
#include "host/api/functions.h"
#include "host/api/handles.h"
#include "host/api/json.h"

namespace tenon::c_api {
namespace {

/// A copy of `text` that lives as long as the session.
tenon_str keep(const tenon_session& session, std::string_view text) {
  const std::lock_guard lock(session.mutex);
  return to_str(*session.texts.emplace(text).first);
}

}  // namespace

uint32_t session_instance_count(const tenon_session* session) {
  if (session == nullptr) return 0;
  return static_cast<uint32_t>(session->session->assembly()->selection.instances.size());
}

tenon_status session_instance(const tenon_session* session, uint32_t index, tenon_instance_info* out_info) {
  return guarded(nullptr, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(session, "session"));
    const std::shared_ptr<const session::Assembly> assembly = session->session->assembly();
    if (index >= assembly->selection.instances.size()) return invalid_input("there is no index ", index);
    const runtime::Instance& instance = *assembly->selection.instances[index];
    const provider::LoadedProvider& provider = *instance.device().provider();
    tenon_instance_info info{};
    info.instance = keep(*session, instance.id());
    info.provider = keep(*session, provider.id());
    info.version = keep(*session, provider.manifest().version.to_string());
    info.library = keep(*session, provider.library_path());
    Json options = Json::object();
    for (const config::OptionSetting& option : instance.options())
      options[option.name] = to_json(option.value);
    info.options = keep(*session, options.dump());
    return write_struct(info, out_info);
  });
}

uint32_t session_metadata_count(const tenon_session* session) {
  return session == nullptr ? 0 : static_cast<uint32_t>(session->session->model().metadata.size());
}

tenon_status session_metadata(const tenon_session* session, uint32_t index, tenon_str* out_key,
                              tenon_str* out_value) {
  return guarded(nullptr, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(session, "session"));
    RETURN_IF_ERROR(check_pointer(out_key, "out_key"));
    RETURN_IF_ERROR(check_pointer(out_value, "out_value"));
    const auto& metadata = session->session->model().metadata;
    if (index >= metadata.size()) return invalid_input("there is no index ", index);
    const auto& [key, value] = *std::next(metadata.begin(), index);
    *out_key = to_str(key);
    *out_value = to_str(value);
    return ok_status();
  });
}

tenon_status session_model(const tenon_session* session, tenon_model_info* out_info) {
  return guarded(nullptr, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(session, "session"));
    const ir::ModelInfo& model = session->session->model();
    const std::shared_ptr<const session::Assembly> assembly = session->session->assembly();
    const ir::Graph& graph = assembly->executable->graph();
    tenon_model_info info{};
    info.opset_count = static_cast<uint32_t>(model.opset_imports.size());
    info.ir_version = model.ir_version;
    info.model_version = model.model_version;
    info.producer_name = to_str(model.producer_name);
    info.producer_version = to_str(model.producer_version);
    info.domain = to_str(model.domain);
    info.description = to_str(model.doc);
    info.graph_name = keep(*session, graph.name);
    info.graph_description = keep(*session, graph.doc);
    return write_struct(info, out_info);
  });
}

tenon_status session_opset(const tenon_session* session, uint32_t index, tenon_str* out_domain,
                           int64_t* out_version) {
  return guarded(nullptr, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(session, "session"));
    RETURN_IF_ERROR(check_pointer(out_domain, "out_domain"));
    RETURN_IF_ERROR(check_pointer(out_version, "out_version"));
    const auto& imports = session->session->model().opset_imports;
    if (index >= imports.size()) return invalid_input("there is no index ", index);
    const auto& [domain, version] = *std::next(imports.begin(), index);
    *out_domain = domain.empty() ? to_str("ai.onnx") : to_str(domain);
    *out_version = version;
    return ok_status();
  });
}

tenon_status session_input_default(const tenon_session* session, uint32_t index, tenon_value** out_value,
                                   tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(session, "session"));
    RETURN_IF_ERROR(check_pointer(out_value, "out_value"));
    const std::vector<uint32_t>& shown = session->session->shown_inputs();
    if (index >= shown.size())
      return invalid_input("there is no input ", index, ": the number of inputs is ", shown.size());
    runtime::ValueRef value = session->session->default_value(shown[index]);
    if (!value)
      return invalid_input("input '", session->session->inputs()[shown[index]].name, "' has no default");
    *out_value = value.release();
    return ok_status();
  });
}

}  // namespace tenon::c_api
