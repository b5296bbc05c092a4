// The JSON Schema of the config file, made from the table that also checks the file. The schema may accept a file
// that a session refuses, but it never refuses a file that a session accepts.
#include "host/api/border.h"
#include "host/api/functions.h"
#include "host/api/json.h"
#include "host/config/read.h"
#include "host/config/schema.h"

namespace tenon::c_api {
namespace {

using config::KeyKind;
using config::KeySpec;

constexpr std::string_view kProviderId = "^[a-z0-9][a-z0-9_-]{0,62}$";
constexpr std::string_view kSize = R"(^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*(B|[kKMGT]B|[KMGT]iB)?\s*$)";
// ">=1.2, <2", "^1.2", "1.2.3-rc.1": comparisons, separated by commas.
constexpr std::string_view kRange =
    R"(^\s*(\*|(<=?|>=?|==?|\^|~)?\s*[0-9]+(\.[0-9]+(\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?)?)?)(\s*,\s*(\*|(<=?|>=?|==?|\^|~)?\s*[0-9]+(\.[0-9]+(\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?)?)?))*\s*$)";

// "input=output", with one star on both sides or on none.
constexpr std::string_view kPair = R"(^([^=*]+=[^=*]+|[^=*]*\*[^=*]*=[^=*]*\*[^=*]*)$)";

Json list_of(Json items, int at_least = 0) {
  Json out{{"type", "array"}, {"items", std::move(items)}};
  if (at_least > 0) out["minItems"] = at_least;
  return out;
}

Json either(Json a, Json b) {
  Json both = Json::array();
  both.push_back(std::move(a));
  both.push_back(std::move(b));
  return {{"anyOf", std::move(both)}};
}

Json text() { return {{"type", "string"}, {"minLength", 1}}; }

Json text_like(std::string_view pattern) { return {{"type", "string"}, {"pattern", pattern}}; }

/// An object that may have these members and no others.
Json object_of(Json members) {
  return {{"type", "object"}, {"properties", std::move(members)}, {"additionalProperties", false}};
}

Json order() {
  Json list = list_of(text_like("^[^/]"), 1);
  list["uniqueItems"] = true;
  return either({{"const", "auto"}}, std::move(list));
}

Json shapes() {
  Json sets = list_of(list_of({{"type", "integer"}, {"minimum", 0}}), 1);
  Json by_input{{"type", "object"}, {"additionalProperties", sets}, {"minProperties", 1}};
  return either(std::move(sets), std::move(by_input));
}

Json placement() {
  Json match = object_of({{"op", either({{"type", "string"}}, list_of({{"type", "string"}}, 1))},
                          {"node", text()},
                          {"model", text()}});
  match["minProperties"] = 1;
  Json rule =
      object_of({{"match", std::move(match)}, {"provider", text()}, {"required", {{"type", "boolean"}}}});
  rule["required"] = std::vector<std::string>{"match", "provider"};
  return list_of(std::move(rule));
}

Json number(const KeySpec& spec) {
  if (spec.kind == KeyKind::kFloat) return {{"type", "number"}, {"minimum", spec.min}, {"maximum", spec.max}};
  return {{"type", "integer"},
          {"minimum", static_cast<int64_t>(spec.min)},
          {"maximum", static_cast<int64_t>(spec.max)}};
}

Json type_of(const KeySpec& spec) {
  switch (spec.kind) {
    case KeyKind::kBool:
      return {{"type", "boolean"}};
    case KeyKind::kInt:
    case KeyKind::kFloat:
      return number(spec);
    case KeyKind::kString:
      return {{"type", "string"}};
    case KeyKind::kSize:
      return either({{"type", "integer"}, {"minimum", 0}}, text_like(kSize));
    case KeyKind::kEnum:
      return {{"enum", config::usable_words(spec)}};
    case KeyKind::kStrings:
      return list_of(spec.key == "discovery.search" ? text_like("^/") : text());
    case KeyKind::kOrder:
      return order();
    case KeyKind::kRange:
      return text_like(kRange);
    case KeyKind::kInput:
      return shapes();
    case KeyKind::kPairs:
      return list_of(text_like(kPair));
    case KeyKind::kPlacement:
      return placement();
  }
  return Json::object();
}

Result<Json> key_schema(const KeySpec& spec) {
  Json out = type_of(spec);
  out["title"] = config::type_text(spec);
  out["description"] = spec.doc;
  for (const config::Word& word : spec.words) {
    if (!word.refusal.empty()) out["x-refused"][word.text] = word.refusal;
  }
  if (!spec.default_toml.empty()) {
    ASSIGN_OR_RETURN(const config::Value root,
                     config::read_toml("v = " + std::string(spec.default_toml), "built-in"));
    out["default"] = to_json(root.as_table()->front().second);
  }
  return out;
}

Result<Json> schema() {
  Json top{{"schema", {{"const", 1}, {"description", "The version of this format."}}}};
  Json provider = Json::object();
  for (const KeySpec& spec : config::schema()) {
    ASSIGN_OR_RETURN(Json key, key_schema(spec));
    const size_t dot = spec.key.find('.');
    const std::string_view name = spec.key.substr(spec.key.rfind('.') + 1);
    if (dot == std::string_view::npos) {
      top[name] = std::move(key);
    } else if (!config::provider_in_key(spec.key).empty()) {
      top["provider"];  // keeps its place in the order of keys
      provider[name] = std::move(key);
    } else {
      Json& section = top[spec.key.substr(0, dot)];
      if (section.empty()) section = object_of(Json::object());
      section["properties"][name] = std::move(key);
    }
  }
  provider["options"] = {{"type", "object"},
                         {"description", "The provider's own: see tenon providers show ID."}};
  Json providers{{"type", "object"}, {"additionalProperties", false}};
  providers["patternProperties"][kProviderId] = object_of(std::move(provider));
  top["provider"] = std::move(providers);
  Json out{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
           {"title", "The config file of Tenon"}};
  Json rest = object_of(std::move(top));
  for (const char* member : {"type", "properties", "additionalProperties"})
    out[member] = std::move(rest[member]);
  return out;
}

}  // namespace

tenon_status config_schema(tenon_text** out_json, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(out_json, "out_json"));
    ASSIGN_OR_RETURN(const Json out, schema());
    return give_text(out.dump(1), out_json);
  });
}

}  // namespace tenon::c_api
