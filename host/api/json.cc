#include "host/api/json.h"

namespace tenon::c_api {

config::Json to_json(const config::Value& value) {
  if (const bool* b = value.as_bool()) return *b;
  if (const int64_t* i = value.as_int()) return *i;
  if (const double* d = value.as_double()) return *d;
  if (const std::string* s = value.as_string()) return *s;
  if (const config::Array* array = value.as_array()) {
    config::Json list = config::Json::array();
    for (const config::Value& element : *array) list.push_back(to_json(element));
    return list;
  }
  config::Json object = config::Json::object();
  if (const config::Table* table = value.as_table()) {
    for (const auto& [key, element] : *table) object[key] = to_json(element);
  }
  return object;
}

}  // namespace tenon::c_api
