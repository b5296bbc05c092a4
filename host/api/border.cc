#include "host/api/border.h"

namespace tenon::c_api {
Status give_text(std::string text, tenon_text** out) {
  RETURN_IF_ERROR(check_pointer(out, "the place for the text"));
  *out = new tenon_text{std::move(text)};
  return ok_status();
}

Result<config::Config> config_or_default(const tenon_config* config) {
  if (config != nullptr) return config->config;
  return config::Config::load();
}

}  // namespace tenon::c_api
