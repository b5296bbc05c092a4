#include "host/config/config.h"

#include "host/api/border.h"
#include "host/api/functions.h"
#include "host/api/json.h"
#include "host/api/registered.h"
#include "host/session/check.h"

namespace tenon::c_api {

tenon_status config_create(tenon_str path, tenon_config** out_config, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(out_config, "out_config"));
    RETURN_IF_ERROR(check_text(path, "path"));
    config::LoadOptions options;
    options.file = std::string(view(path));
    ASSIGN_OR_RETURN(config::Config loaded, config::Config::load(options));
    *out_config = new tenon_config{std::move(loaded)};
    return ok_status();
  });
}

tenon_status config_create_from_text(tenon_str text, tenon_str name, tenon_config** out_config,
                                     tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(out_config, "out_config"));
    RETURN_IF_ERROR(check_text(text, "text"));
    RETURN_IF_ERROR(check_text(name, "name"));
    config::LoadOptions options;
    options.text = view(text);
    options.text_name = name.size == 0 ? "config text" : std::string(view(name));
    ASSIGN_OR_RETURN(config::Config loaded, config::Config::load(options));
    *out_config = new tenon_config{std::move(loaded)};
    return ok_status();
  });
}

void config_release(tenon_config* config) { delete config; }

tenon_status config_set(tenon_config* config, tenon_str key, tenon_str value, tenon_str source,
                        tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(config, "config"));
    RETURN_IF_ERROR(check_text(key, "key"));
    RETURN_IF_ERROR(check_text(value, "value"));
    RETURN_IF_ERROR(check_text(source, "source"));
    const std::string_view origin = source.size == 0 ? "config_set" : view(source);
    return config->config.set(view(key), view(value), std::string(origin));
  });
}

tenon_status config_describe(const tenon_config* config, tenon_text** out_json, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(config, "config"));
    RETURN_IF_ERROR(check_pointer(out_json, "out_json"));
    Json out = Json::object();
    for (const config::EffectiveValue& value : config->config.show()) {
      out[value.key] = {{"value", to_json(value.value)},
                        {"toml", value.value.to_toml()},
                        {"origin", value.origin()},
                        {"layer", config::layer_name(value.layer)}};
    }
    return give_text(out.dump(), out_json);
  });
}

tenon_status config_check(const tenon_config* config, tenon_text** out_json, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(out_json, "out_json"));
    ASSIGN_OR_RETURN(const config::Config effective, config_or_default(config));
    session::SessionOptions options;
    options.registered = registered_paths();
    const session::ConfigReport report = session::check_config(effective, options);
    const Json out = {
        {"errors", report.errors}, {"warnings", report.warnings}, {"instances", report.instances}};
    return give_text(out.dump(), out_json);
  });
}

}  // namespace tenon::c_api
