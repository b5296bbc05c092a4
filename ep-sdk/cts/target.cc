#include "ep-sdk/cts/target.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <stdexcept>

#include "ep-sdk/cts/hygiene.h"
#include "ep-sdk/shared/option.h"

namespace tenon::cts {

using Json = nlohmann::json;
using shared::OptionRule;
using shared::OptionValue;

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

/// The value of `--option name=text` for an option of this type. Throws std::runtime_error.
OptionValue parse_option(const OptionRule& rule, const std::string& name, const std::string& text) {
  const bool verbatim = rule.type == shared::OptionType::kString || rule.type == shared::OptionType::kSize;
  const Json json = verbatim ? Json(text) : Json::parse(text, nullptr, false);
  const bool plain = json.is_primitive() && !json.is_null() && !json.is_discarded();
  const std::optional<OptionValue> typed = plain ? shared::as_type(rule.type, value_of(json)) : std::nullopt;
  if (!typed)
    throw std::runtime_error("--option " + name + ": '" + text + "' is not of type " +
                             std::string(shared::option_type_name(rule.type)));
  const std::string wrong = shared::complaint_of(rule, *typed);
  if (!wrong.empty()) throw std::runtime_error("--option " + name + ": '" + text + "' " + wrong);
  return *typed;
}

constexpr size_t kMaxBytes = 1 << 20;
constexpr int kMaxDepth = 32;

/// Builds the tree as hosts do: a key that occurs twice, null in a list, an integer above 63 bits and deep nesting are
/// errors, and a member that is null is as if it were absent.
class ManifestReader {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& json) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        if (depth >= kMaxDepth) fail("it is nested deeper than " + std::to_string(kMaxDepth) + " levels");
        keys_.emplace_back();
        lists_.push_back(event == Json::parse_event_t::array_start);
        return true;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end:
        keys_.pop_back();
        lists_.pop_back();
        return true;
      case Json::parse_event_t::key:
        if (!keys_.back().insert(json.get<std::string>()).second)
          fail("the key '" + json.get<std::string>() + "' is given twice");
        return true;
      default:
        if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
          fail("an integer does not fit in 64 bits");
        if (json.is_null() && !lists_.empty() && lists_.back()) fail("null is not allowed in a list");
        return !json.is_null();
    }
  }

 private:
  [[noreturn]] static void fail(const std::string& what) { throw std::runtime_error(what); }

  std::vector<std::set<std::string>> keys_;  // of the open objects and lists
  std::vector<bool> lists_;
};

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

std::string unreadable(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return "there is no such file";
  if (std::filesystem::is_directory(status)) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      if (entry.path().string().ends_with(".tenon.json")) names.push_back(entry.path().string());
    }
    std::sort(names.begin(), names.end());
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return list.empty() ? "it is a folder, without a *.tenon.json"
                        : "it is a folder; its manifests are " + list;
  }
  if (!std::filesystem::is_regular_file(status)) return "it is no file";
  if (std::ifstream(std::filesystem::path(path)).peek() == EOF && std::filesystem::file_size(path, error) > 0)
    return "the permission to read it is lacking";
  return {};
}

void read_manifest(Target* target) {
  target->manifest = nullptr;
  target->syntax = unreadable(target->manifest_path);
  if (!target->syntax.empty()) return;
  std::ifstream file(std::filesystem::path(target->manifest_path), std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  try {
    if (text.size() > kMaxBytes) throw std::runtime_error("it is larger than 1 MiB");
    target->manifest = Json::parse(text, ManifestReader());
    if (!target->manifest.is_object()) throw std::runtime_error("it holds no JSON object");
  } catch (const std::exception& e) {
    target->syntax = e.what();
    target->manifest = nullptr;
  }
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
    const std::string name = text.substr(0, equals);
    if (std::any_of(given.begin(), given.end(), [&](const auto& entry) { return entry.first == name; }))
      throw std::runtime_error("--option " + name + " is given twice");
    given.emplace_back(name, text.substr(equals + 1));
  }
  std::string names;
  for (const Json& option : known) {
    const std::string name = option.value("name", "");
    names += (names.empty() ? "" : ", ") + name;
    const OptionRule rule = rule_of(option);
    const auto chosen =
        std::find_if(given.begin(), given.end(), [&](const auto& entry) { return entry.first == name; });
    if (chosen != given.end()) {
      set(name, parse_option(rule, name, chosen->second));
      given.erase(chosen);
    } else if (option.contains("default")) {
      const std::optional<OptionValue> typed = shared::as_type(rule.type, value_of(option["default"]));
      if (!typed) throw std::runtime_error("the default of the option '" + name + "' is not of its type");
      set(name, *typed);
    }
  }
  if (!given.empty())
    throw std::runtime_error("--option: the manifest has no option '" + given[0].first + "'; it has " +
                             (names.empty() ? "none" : names));
}

void InstanceOptions::set(const std::string& name, const OptionValue& value) {
  const auto keep = [&](const std::string& text) {
    texts_.push_back(std::make_unique<std::string>(text));
    return tenon_str{texts_.back()->data(), texts_.back()->size()};
  };
  tenon_option out{};
  out.name = keep(name);
  if (const bool* flag = std::get_if<bool>(&value)) {
    out.type = TENON_OPTION_BOOL, out.i = *flag ? 1 : 0;
  } else if (const auto* number = std::get_if<int64_t>(&value)) {
    out.type = TENON_OPTION_INT, out.i = *number;
  } else if (const auto* real = std::get_if<double>(&value)) {
    out.type = TENON_OPTION_FLOAT, out.f = *real;
  } else {
    out.type = TENON_OPTION_STRING, out.s = keep(std::get<std::string>(value));
  }
  raw_.push_back(out);
}

}  // namespace tenon::cts
