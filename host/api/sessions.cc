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

/// What stands in place of parts of the model.
Status read_given(const tenon_session_options& given, session::SessionOptions* out) {
  if (given.cancel != nullptr) out->cancel = given.cancel->flag;
  RETURN_IF_ERROR(given.initializer_count == 0
                      ? ok_status()
                      : check_pointer(given.initializers, "initializers of options"));
  for (uint32_t i = 0; i < given.initializer_count; ++i) {
    const tenon_named_value& each = given.initializers[i];
    RETURN_IF_ERROR(check_text(each.name, "an initializer's name"));
    RETURN_IF_ERROR(check_pointer(each.value, "an initializer's value"));
    const std::string name(view(each.name));
    Result<ir::TensorPtr> tensor = runtime::tensor_of(runtime::ValueRef::share(each.value));
    if (!tensor.ok()) return std::move(tensor).error().with_context(str_cat("initializer '", name, "'"));
    if (!out->given.initializers.emplace(name, std::move(*tensor)).second)
      return invalid_input("initializer '", name, "' is given twice");
  }
  RETURN_IF_ERROR(given.dim_count == 0 ? ok_status() : check_pointer(given.dims, "dims of options"));
  for (uint32_t i = 0; i < given.dim_count; ++i) {
    RETURN_IF_ERROR(check_text(given.dims[i].name, "a dim's name"));
    const std::string name(view(given.dims[i].name));
    if (given.dims[i].size < 0)
      return invalid_input("the size of dim '", name, "' is ", given.dims[i].size, "; it must be 0 or more");
    if (!out->given.dims.emplace(name, given.dims[i].size).second)
      return invalid_input("dim '", name, "' is given twice");
  }
  RETURN_IF_ERROR(given.file_count == 0 ? ok_status() : check_pointer(given.files, "files of options"));
  for (uint32_t i = 0; i < given.file_count; ++i) {
    const tenon_named_bytes& each = given.files[i];
    RETURN_IF_ERROR(check_text(each.name, "a file's name"));
    if (each.data == nullptr && each.size != 0)
      return invalid_input("data of file '", view(each.name), "' is NULL, but its size is ", each.size);
    const onnx::Given::File file{static_cast<const std::byte*>(each.data), static_cast<size_t>(each.size)};
    if (!out->given.files.emplace(view(each.name), file).second)
      return invalid_input("file '", view(each.name), "' is given twice");
  }
  return ok_status();
}

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
  RETURN_IF_ERROR(read_given(given, &out));
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

namespace {

Result<session::ModelSource> source_of(tenon_str model_path) {
  RETURN_IF_ERROR(check_text(model_path, "model_path"));
  session::ModelSource source;
  source.path = std::string(view(model_path));
  return source;
}

/// Bytes that the caller keeps.
Result<session::ModelSource> source_of(const void* data, uint64_t size, tenon_str directory) {
  RETURN_IF_ERROR(check_pointer(data, "data"));
  RETURN_IF_ERROR(check_text(directory, "directory"));
  session::ModelSource source;
  source.keep = true;
  source.data = data;
  source.size = static_cast<size_t>(size);
  source.directory = std::string(view(directory));
  return source;
}

Status describe(const session::ModelSource& source, const tenon_config* config, tenon_text** out_json) {
  RETURN_IF_ERROR(check_pointer(out_json, "out_json"));
  ASSIGN_OR_RETURN(const config::Config effective, config_or_default(config));
  session::LoadTime time;
  RETURN_IF_ERROR(time.begin(effective.settings()));
  ASSIGN_OR_RETURN(const ir::Model model, session::load_model(source, effective.settings()));
  return give_text(session::describe_model(model, model.graph).dump(), out_json);
}

Status optimize(const session::ModelSource& source, const tenon_config* config, tenon_str out_path) {
  RETURN_IF_ERROR(check_text(out_path, "out_path"));
  ASSIGN_OR_RETURN(const config::Config effective, config_or_default(config));
  session::SessionOptions options;
  options.registered = registered_paths();
  ASSIGN_OR_RETURN(const ir::Model model, session::transformed_model(source, effective, options));
  return onnx::save(model, std::string(view(out_path)));
}

}  // namespace

tenon_status model_describe(tenon_str model_path, const tenon_config* config, tenon_text** out_json,
                            tenon_error* error) {
  return guarded(error, [&]() -> Status {
    ASSIGN_OR_RETURN(const session::ModelSource source, source_of(model_path));
    return describe(source, config, out_json);
  });
}

tenon_status model_describe_from_memory(const void* data, uint64_t size, tenon_str directory,
                                        const tenon_config* config, tenon_text** out_json,
                                        tenon_error* error) {
  return guarded(error, [&]() -> Status {
    ASSIGN_OR_RETURN(const session::ModelSource source, source_of(data, size, directory));
    return describe(source, config, out_json);
  });
}

tenon_status model_optimize(tenon_str model_path, const tenon_config* config, tenon_str out_path,
                            tenon_error* error) {
  return guarded(error, [&]() -> Status {
    ASSIGN_OR_RETURN(const session::ModelSource source, source_of(model_path));
    return optimize(source, config, out_path);
  });
}

tenon_status model_optimize_from_memory(const void* data, uint64_t size, tenon_str directory,
                                        const tenon_config* config, tenon_str out_path, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    ASSIGN_OR_RETURN(const session::ModelSource source, source_of(data, size, directory));
    return optimize(source, config, out_path);
  });
}

tenon_status session_end_profile(tenon_session* session, tenon_text** out_path, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(session, "session"));
    if (out_path != nullptr) *out_path = nullptr;
    ASSIGN_OR_RETURN(std::string path, session->session->end_profile());
    return out_path == nullptr ? ok_status() : give_text(std::move(path), out_path);
  });
}

}  // namespace tenon::c_api
