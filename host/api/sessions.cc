#include <vector>

#include "core/onnx/onnx.h"
#include "host/api/border.h"
#include "host/api/functions.h"
#include "host/api/handles.h"
#include "host/api/json.h"
#include "host/api/registered.h"
#include "host/session/describe.h"
#include "host/session/load.h"

namespace tenon::c_api {
namespace {

Result<session::SessionOptions> options_of(const tenon_session_options* options) {
  session::SessionOptions out;
  out.registered = registered_paths();
  ASSIGN_OR_RETURN(const tenon_session_options given, read_struct(options, "options"));
  if ((given.flags & ~uint32_t{TENON_SESSION_ALL_VALUES}) != 0)
    return invalid_input("flags of options has unknown bits: ", given.flags);
  out.all_values = (given.flags & TENON_SESSION_ALL_VALUES) != 0;
  if (given.operators != nullptr) {
    const std::lock_guard lock(given.operators->mutex);
    out.operators = given.operators->set;
  }
  if (given.log != nullptr) {
    out.log = [given](const LogLine& line) {
      given.log(given.log_context, line.level, to_str(line.provider), to_str(line.code),
                to_str(line.message));
    };
  }
  if (given.progress == nullptr) return out;
  out.progress = [given](double fraction, std::string_view stage) {
    return given.progress(given.progress_context, fraction, to_str(stage)) == 0;
  };
  return out;
}

Status create(const session::ModelSource& source, const tenon_config* config,
              const tenon_session_options* options, tenon_session** out_session) {
  RETURN_IF_ERROR(check_pointer(out_session, "out_session"));
  ASSIGN_OR_RETURN(const session::SessionOptions wanted, options_of(options));
  ASSIGN_OR_RETURN(const config::Config effective, config_or_default(config));
  ASSIGN_OR_RETURN(std::shared_ptr<session::Session> made,
                   session::Session::create(source, effective, wanted));
  *out_session = new tenon_session(std::move(made));
  return ok_status();
}

/// `shown`: those of the list that the application sees.
tenon_status give_info(const session::IoList& list, const std::vector<uint32_t>& shown, uint32_t index,
                       tenon_io_info* out_info) {
  return guarded(nullptr, [&]() -> Status {
    if (index >= shown.size()) return invalid_input("there is no index ", index);
    return write_struct(list[shown[index]].info(), out_info);
  });
}

}  // namespace

tenon_status session_create(tenon_str model_path, const tenon_config* config,
                            const tenon_session_options* options, tenon_session** out_session,
                            tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_text(model_path, "model_path"));
    session::ModelSource source;
    source.path = std::string(view(model_path));
    return create(source, config, options, out_session);
  });
}

tenon_status session_create_from_memory(const void* data, uint64_t size, uint32_t keep, tenon_str directory,
                                        const tenon_config* config, const tenon_session_options* options,
                                        tenon_session** out_session, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(data, "data"));
    RETURN_IF_ERROR(check_text(directory, "directory"));
    session::ModelSource source;
    source.keep = keep != 0;
    source.data = data;
    source.size = static_cast<size_t>(size);
    source.directory = std::string(view(directory));
    return create(source, config, options, out_session);
  });
}

void session_release(tenon_session* session) { release(session); }

uint32_t session_input_count(const tenon_session* session) {
  return session == nullptr ? 0 : static_cast<uint32_t>(session->session->shown_inputs().size());
}

uint32_t session_output_count(const tenon_session* session) {
  return session == nullptr ? 0 : static_cast<uint32_t>(session->session->shown_outputs().size());
}

tenon_status session_input(const tenon_session* session, uint32_t index, tenon_io_info* out_info) {
  if (session == nullptr) return TENON_INVALID_ARGUMENT;
  return give_info(session->session->inputs(), session->session->shown_inputs(), index, out_info);
}

tenon_status session_output(const tenon_session* session, uint32_t index, tenon_io_info* out_info) {
  if (session == nullptr) return TENON_INVALID_ARGUMENT;
  return give_info(session->session->outputs(), session->session->shown_outputs(), index, out_info);
}

tenon_status session_describe(const tenon_session* session, uint32_t what, tenon_text** out_json,
                              tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(session, "session"));
    RETURN_IF_ERROR(check_pointer(out_json, "out_json"));
    switch (what) {
      case TENON_DESCRIBE_EXPLAIN:
        return give_text(session::explain(*session->session).dump(), out_json);
      case TENON_DESCRIBE_PLAN:
        return give_text(session::describe_plans(*session->session).dump(), out_json);
      case TENON_DESCRIBE_MODEL:
        return give_text(session::describe_model(session->session->model(),
                                                 session->session->assembly()->executable->graph())
                             .dump(),
                         out_json);
      default:
        return invalid_input("unknown description ", what);
    }
  });
}

tenon_status model_describe(tenon_str model_path, const tenon_config* config, tenon_text** out_json,
                            tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_text(model_path, "model_path"));
    RETURN_IF_ERROR(check_pointer(out_json, "out_json"));
    ASSIGN_OR_RETURN(const config::Config effective, config_or_default(config));
    session::ModelSource source;
    source.path = std::string(view(model_path));
    session::LoadTime time;
    RETURN_IF_ERROR(time.begin(effective.settings()));
    ASSIGN_OR_RETURN(const ir::Model model, session::load_model(source, effective.settings()));
    return give_text(session::describe_model(model, model.graph).dump(), out_json);
  });
}

tenon_status model_optimize(tenon_str model_path, const tenon_config* config, tenon_str out_path,
                            tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_text(model_path, "model_path"));
    RETURN_IF_ERROR(check_text(out_path, "out_path"));
    ASSIGN_OR_RETURN(const config::Config effective, config_or_default(config));
    session::ModelSource source;
    source.path = std::string(view(model_path));
    session::SessionOptions options;
    options.registered = registered_paths();
    ASSIGN_OR_RETURN(const ir::Model model, session::transformed_model(source, effective, options));
    return onnx::save(model, std::string(view(out_path)));
  });
}

}  // namespace tenon::c_api
