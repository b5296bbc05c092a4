#include "host/api/json.h"

namespace tenon::c_api {

Json to_json(const config::Value& value) {
  if (const bool* b = value.as_bool()) return *b;
  if (const int64_t* i = value.as_int()) return *i;
  if (const double* d = value.as_double()) return *d;
  if (const std::string* s = value.as_string()) return *s;
  if (const config::Array* array = value.as_array()) {
    Json list = Json::array();
    for (const config::Value& element : *array) list.push_back(to_json(element));
    return list;
  }
  Json object = Json::object();
  if (const config::Table* table = value.as_table()) {
    for (const auto& [key, element] : *table) object[key] = to_json(element);
  }
  return object;
}

}  // namespace tenon::c_api
