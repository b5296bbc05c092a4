// What a session tells without JSON: its provider instances and its model's metadata.
#include <iterator>

#include "host/api/border.h"
#include "host/api/functions.h"
#include "host/api/handles.h"

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

}  // namespace tenon::c_api
