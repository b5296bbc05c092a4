// JSON as the API gives it out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "host/config/value.h"

namespace tenon::c_api {

nlohmann::ordered_json to_json(const config::Value& value);

/// Text of a document; bytes that are no UTF-8 are replaced.
inline std::string dump(const nlohmann::ordered_json& document) {
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace tenon::c_api
