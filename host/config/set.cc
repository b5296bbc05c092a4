// Sets single values from flags, the API and the environment, where people leave out TOML's quotes.
#include <algorithm>
#include <map>

#include "core/base/nearest.h"
#include "host/base/environment.h"
#include "host/base/text.h"
#include "host/config/config.h"
#include "host/config/read.h"
#include "host/config/schema.h"

namespace tenon::config {
namespace {

// The text as a TOML value, or nullopt when it is not exactly one.
std::optional<Value> toml_value(std::string_view text, const std::string& source) {
  Result<Value> root = read_toml(str_cat("v = ", text), source);
  if (!root || root->as_table()->size() != 1) return std::nullopt;
  return (*root->as_table())[0].second;
}

// Text that begins like a list, a table or a quoted string must be valid TOML. Other text is taken as it is.
Status check_broken(std::string_view text, const std::string& source) {
  const std::string_view trimmed = trim(text);
  if (trimmed.empty() || std::string_view("[{\"'").find(trimmed[0]) == std::string_view::npos)
    return ok_status();
  Result<Value> root = read_toml(str_cat("v = ", trimmed), source);
  const std::string why(root.ok() ? "one value is expected" : root.error().message());
  return config_error(source, ": '", trimmed.substr(0, 200), "' is not a TOML value (", why, ")");
}

// Gives every part of the value the location `where`, because a flag has no lines.
Value relocate(const Value& value, const Location& where) {
  if (const Array* array = value.as_array()) {
    Array out;
    for (const Value& element : *array) out.push_back(relocate(element, where));
    return Value(std::move(out), where);
  }
  if (const Table* table = value.as_table()) {
    Table out;
    for (const auto& member : *table) out.emplace_back(member.first, relocate(member.second, where));
    return Value(std::move(out), where);
  }
  return value.at(where);
}

bool wants_text(KeyKind kind) {
  return kind == KeyKind::kString || kind == KeyKind::kEnum || kind == KeyKind::kRange ||
         kind == KeyKind::kSize;
}

Result<Value> read_loosely(const KeySpec* spec, std::string_view text, const Location& where) {
  bool list = spec != nullptr && (spec->kind == KeyKind::kStrings || spec->kind == KeyKind::kOrder ||
                                  spec->kind == KeyKind::kPairs);
  std::optional<Value> value = toml_value(text, where.source);
  if (!value) RETURN_IF_ERROR(check_broken(text, where.source));
  bool scalar = !value || !(value->as_array() || value->as_table());
  const std::string* words = value ? value->as_string() : nullptr;
  if (list && scalar && !(spec->kind == KeyKind::kOrder && trim(text) == "auto")) {
    Array parts;
    for (std::string& part : split(words ? std::string_view(*words) : text, ','))
      parts.emplace_back(std::move(part), where);
    return Value(std::move(parts), where);
  }
  bool other_scalar = value && scalar && words == nullptr;
  bool bytes = value && spec != nullptr && spec->kind == KeyKind::kSize && value->as_int();
  if (spec != nullptr && wants_text(spec->kind) && other_scalar && !bytes) value.reset();
  return value ? relocate(*value, where) : Value(std::string(trim(text)), where);
}

// {"select", "order"} + value -> the document { select = { order = value } }.
Value nest(const std::vector<std::string>& path, Value value, const Location& where) {
  for (auto name = path.rbegin(); name != path.rend(); ++name) {
    Table table;
    table.emplace_back(*name, std::move(value));
    value = Value(std::move(table), where);
  }
  return value;
}

// Splits at the dots. The part after "options." is one name even when it contains dots.
std::vector<std::string> path_of(std::string_view key) {
  std::vector<std::string> path;
  while (!key.empty()) {
    bool option = path.size() == 3 && path[0] == "provider" && path[2] == "options";
    size_t end = option ? key.size() : std::min(key.find('.'), key.size());
    path.emplace_back(key.substr(0, end));
    key.remove_prefix(std::min(end + 1, key.size()));
  }
  return path;
}

constexpr std::string_view kVariablePrefix = "TENON_";

/// "select.order" -> "TENON_SELECT_ORDER".
std::string variable_of(std::string_view key) {
  std::string name(kVariablePrefix);
  for (char c : key) {
    const bool separates = c == '.' || c == '-';
    name += separates ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return name;
}

/// Variables whose names do not follow from their keys.
struct ShortVariable {
  std::string_view name, key;
};
constexpr ShortVariable kShortVariables[] = {{"TENON_PROVIDERS_SELECT", "discovery.allow"},
                                             {"TENON_PROVIDERS_DISABLE", "discovery.deny"}};
/// Variables that set no key: the config file, the places of manifests, and one of the Python package.
constexpr std::string_view kOtherVariables[] = {"TENON_CONFIG", "TENON_PROVIDER_FILES",
                                                "TENON_ADD_PROVIDER_FILES", "TENON_AS_ONNXRUNTIME"};

}  // namespace

Status Config::set(std::string_view key, std::string_view text, std::string source) {
  Location where{std::move(source), 0};
  std::string_view name = trim(key);
  if (name.empty()) return config_error(where.source, ": the key is empty");
  ASSIGN_OR_RETURN(Value value, read_loosely(find_key(name), text, where));
  return merge(nest(path_of(name), std::move(value), where), Layer::kApi);
}

Status Config::apply_environment() {
  std::vector<std::string> errors;
  std::map<std::string_view, std::string> set_by;
  auto apply = [&](const std::string& variable, std::string_view key) {
    std::optional<std::string> text = environment(variable.c_str());
    if (!text) return;
    const auto [other, is_first] = set_by.emplace(key, variable);
    if (!is_first) {
      errors.push_back(str_cat("environment variable ", variable, ": '", key, "' is given by ", other->second,
                               " too; unset one of them"));
      return;
    }
    Location where{"environment variable " + variable, 0};
    Result<Value> value = read_loosely(find_key(key), *text, where);
    Status status =
        value.ok() ? merge(nest(path_of(key), std::move(*value), where), Layer::kEnvironment) : value.error();
    if (!status.ok()) errors.emplace_back(status.message());
  };
  for (const KeySpec& spec : schema()) {
    if (spec.key.find('*') == std::string_view::npos) apply(variable_of(spec.key), spec.key);
  }
  for (const ShortVariable& each : kShortVariables) apply(std::string(each.name), each.key);
  if (!errors.empty()) return config_error(join(errors, "\n"));
  return ok_status();
}

std::vector<std::string> unknown_variables(const std::vector<std::string>& provider_ids) {
  std::vector<std::string> known(std::begin(kOtherVariables), std::end(kOtherVariables));
  for (const ShortVariable& each : kShortVariables) known.emplace_back(each.name);
  for (const KeySpec& spec : schema()) {
    if (spec.key.find('*') == std::string_view::npos) known.push_back(variable_of(spec.key));
  }
  const auto is_known = [&](const std::string& name) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return true;
    return std::any_of(provider_ids.begin(), provider_ids.end(), [&](const std::string& id) {
      return name.rfind(variable_of(id) + "_", 0) == 0;  // belongs to a provider
    });
  };
  std::vector<std::string> out;
  for (const std::string& name : environment_names(kVariablePrefix)) {
    if (is_known(name)) continue;
    const std::string nearest = nearest_name(name, known);
    out.push_back(str_cat("environment variable ", name, " has no effect: there is no such key",
                          nearest.empty() ? "" : str_cat(" (did you mean ", nearest, "?)"), "; unset it"));
  }
  return out;
}

}  // namespace tenon::config
