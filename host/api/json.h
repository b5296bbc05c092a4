// Values of the config as JSON, as the API returns them.
#pragma once

#include "host/base/json.h"
#include "host/config/value.h"

namespace tenon::c_api {

Json to_json(const config::Value& value);

}  // namespace tenon::c_api
