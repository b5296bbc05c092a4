#include "ep-sdk/cts/target.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <stdexcept>

namespace tenon::cts {

using Json = nlohmann::json;

extern const char* const kManifestSchema;  // manifest.schema.json, built in

namespace {

Json member(const Json& object, const char* a, const char* b) {
  const auto at = object.find(a);
  if (at == object.end() || !at->is_object() || !at->contains(b)) return nullptr;
  return at->at(b);
}

std::string text_member(const Json& object, const char* a, const char* b) {
  const Json value = object.is_object() ? member(object, a, b) : nullptr;
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// The part of JSON Schema that manifest.schema.json uses.
class SchemaCheck {
 public:
  explicit SchemaCheck(std::vector<std::string>* out) : out_(out) {}

  void value(const Json& value, const Json& schema, const std::string& place) {
    if (schema.contains("type") && !has_type(value, schema["type"])) {
      return say(place, "is not of type " + schema["type"].dump());
    }
    for (const auto& [key, rule] : schema.items()) {
      if (breaks(value, key, rule)) say(place, "breaks " + key + " " + rule.dump());
    }
    if (value.is_object()) object(value, schema, place);
    if (value.is_array() && schema.contains("items")) {
      for (size_t i = 0; i < value.size(); ++i)
        this->value(value[i], schema["items"], place + "[" + std::to_string(i) + "]");
    }
  }

 private:
  static bool has_type(const Json& value, const Json& types) {
    if (types.is_array())
      return std::any_of(types.begin(), types.end(), [&](const Json& t) { return has_type(value, t); });
    const std::string type = types.get<std::string>();
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
           (type == "integer" && value.is_number_integer()) || (type == "number" && value.is_number());
  }

  static bool breaks(const Json& value, const std::string& key, const Json& rule) {
    if (key == "const") return value != rule;
    if (key == "enum") return std::find(rule.begin(), rule.end(), value) == rule.end();
    if (key == "minimum") return value.is_number() && value < rule;
    if (key == "maximum") return value.is_number() && value > rule;
    if (key == "minLength") return value.is_string() && value.get_ref<const std::string&>().size() < rule;
    if (key == "minItems") return value.is_array() && value.size() < rule;
    if (key == "maxItems") return value.is_array() && value.size() > rule;
    if (key != "pattern" || !value.is_string()) return false;
    const std::regex pattern(rule.get<std::string>(), std::regex::ECMAScript);
    const std::string text = value.get<std::string>();
    return text.size() > 4096 || !std::regex_search(text, pattern);
  }

  void object(const Json& object, const Json& schema, const std::string& place) {
    for (const Json& name : schema.value("required", Json::array())) {
      if (!object.contains(name.get<std::string>())) say(place, "lacks '" + name.get<std::string>() + "'");
    }
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [name, inner] : object.items()) {
      const std::string below = place.empty() ? name : place + "." + name;
      if (properties.contains(name)) {
        value(inner, properties[name], below);
      } else if (schema.contains("additionalProperties")) {
        value(inner, schema["additionalProperties"], below);
      }
    }
  }

  void say(const std::string& place, const std::string& what) {
    out_->push_back("'" + (place.empty() ? std::string("the manifest") : place) + "' " + what);
  }

  std::vector<std::string>* out_;
};

/// "4GiB", "512 KB" or a number of bytes.
int64_t bytes_of(const std::string& text) {
  size_t used = 0;
  const double number = std::stod(text, &used);
  const std::string unit =
      text.substr(text.find_first_not_of(' ', used) == std::string::npos ? text.size()
                                                                         : text.find_first_not_of(' ', used));
  constexpr std::pair<const char*, double> kUnits[] = {
      {"", 1},           {"B", 1},         {"KB", 1e3},
      {"MB", 1e6},       {"GB", 1e9},      {"KiB", 1024.},
      {"MiB", 1048576.}, {"GiB", 1 << 30}, {"TiB", 1099511627776.}};
  for (const auto& known : kUnits) {
    if (unit == known.first) return static_cast<int64_t>(number * known.second);
  }
  throw std::runtime_error("'" + text + "' is not a size; write for example 64MiB");
}

/// The value of `--option name=text` for an option of this type.
Json parse_option(const std::string& type, const std::string& text) {
  if (type == "string" || type == "size") return text;
  Json value = Json::parse(text, nullptr, false);
  const bool fits = (type == "bool" && value.is_boolean()) || (type == "int" && value.is_number_integer()) ||
                    (type == "float" && value.is_number());
  if (!fits) throw std::runtime_error("--option: '" + text + "' is not of type " + type);
  return value;
}

}  // namespace

std::string Target::id() const { return text_member(manifest, "provider", "id"); }
std::string Target::version() const { return text_member(manifest, "provider", "version"); }

std::string Target::manifest_dir() const {
  return std::filesystem::absolute(manifest_path).parent_path().lexically_normal().string();
}

std::string Target::module_path() const {
  const std::string path = text_member(manifest, "library", "path");
  return path.empty() ? path : (std::filesystem::path(manifest_dir()) / path).string();
}

void read_manifest(Target* target) {
  std::ifstream file(target->manifest_path);
  if (!file) {
    target->syntax = "the file cannot be read";
    return;
  }
  try {
    target->manifest = Json::parse(file);
  } catch (const Json::exception& e) {
    target->syntax = e.what();
  }
  if (target->syntax.empty() && !target->manifest.is_object()) target->syntax = "it holds no JSON object";
  if (!target->syntax.empty()) target->manifest = nullptr;
}

std::vector<std::string> schema_complaints(const Json& manifest) {
  std::vector<std::string> out;
  SchemaCheck(&out).value(manifest, Json::parse(kManifestSchema), "");
  return out;
}

InstanceOptions::InstanceOptions(const Target& target) {
  const Json known = target.manifest.is_object() ? target.manifest.value("options", Json::array()) : Json();
  std::vector<std::pair<std::string, std::string>> given;
  for (const std::string& text : target.options) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) throw std::runtime_error("--option " + text + ": write name=value");
    given.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const Json& option : known) {
    const std::string name = option.value("name", ""), type = option.value("type", "");
    const auto chosen =
        std::find_if(given.begin(), given.end(), [&](const auto& entry) { return entry.first == name; });
    if (chosen != given.end()) {
      set(option, parse_option(type, chosen->second));
      given.erase(chosen);
    } else if (option.contains("default")) {
      set(option, option["default"]);
    }
  }
  if (!given.empty())
    throw std::runtime_error("--option: the manifest has no option '" + given[0].first + "'");
}

void InstanceOptions::set(const Json& option, const Json& value) {
  const std::string type = option.value("type", "");
  const auto keep = [&](const std::string& text) {
    texts_.push_back(std::make_unique<std::string>(text));
    return tenon_str{texts_.back()->data(), texts_.back()->size()};
  };
  tenon_option out{};
  out.name = keep(option.value("name", ""));
  if (type == "bool") {
    out.type = TENON_OPTION_BOOL;
    out.i = value.get<bool>() ? 1 : 0;
  } else if (type == "int" || (type == "size" && value.is_number())) {
    out.type = TENON_OPTION_INT;
    out.i = value.get<int64_t>();
  } else if (type == "float") {
    out.type = TENON_OPTION_FLOAT;
    out.f = value.get<double>();
  } else if (type == "size") {
    out.type = TENON_OPTION_INT;
    out.i = bytes_of(value.get<std::string>());
  } else {
    out.type = TENON_OPTION_STRING;
    out.s = keep(value.get<std::string>());
  }
  raw_.push_back(out);
}

}  // namespace tenon::cts
