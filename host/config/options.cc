#include "host/config/options.h"

#include <algorithm>
#include <cmath>

#include "host/base/size.h"
#include "host/base/text.h"
#include "host/config/config.h"

namespace tenon::config {
namespace {

constexpr std::string_view kTypeNames[] = {"bool", "int", "float", "string", "size"};

// The value in the declared type, or nullopt when it has another type.
std::optional<Value> as_type(const Value& value, OptionType type) {
  switch (type) {
    case OptionType::kBool:
      if (value.as_bool()) return value;
      return std::nullopt;
    case OptionType::kInt:
      if (value.as_int()) return value;
      return std::nullopt;
    case OptionType::kFloat:
      if (value.as_double()) return value;
      if (value.as_int()) return Value(static_cast<double>(*value.as_int()), value.where());
      return std::nullopt;
    case OptionType::kString:
      if (value.as_string()) return value;
      return std::nullopt;
    case OptionType::kSize:
      if (value.as_int() && *value.as_int() >= 0) return value;
      if (!value.as_string()) return std::nullopt;
      if (Result<uint64_t> bytes = parse_size(*value.as_string())) {
        return Value(static_cast<int64_t>(*bytes), value.where());
      }
      return std::nullopt;
  }
  return std::nullopt;
}

bool equal(const Value& a, const Value& b) { return a.to_toml() == b.to_toml(); }

double number_of(const Value& value) {
  if (const int64_t* number = value.as_int()) return static_cast<double>(*number);
  return value.as_double() ? *value.as_double() : 0;
}

std::string list_of(const std::vector<Value>& values) {
  std::string out;
  for (const Value& value : values) out += str_cat(out.empty() ? "" : ", ", value.to_toml());
  return out;
}

// The value as the option needs it. Otherwise adds a complaint and returns nullopt.
std::optional<Value> check(const OptionSpec& spec, const std::string& key, const Value& value,
                           std::vector<std::string>& errors) {
  std::string at = str_cat(value.where().to_string(), ": '", key, "' ");
  std::optional<Value> typed = as_type(value, spec.type);
  if (!typed) {
    errors.push_back(
        str_cat(at, "must be of type ", option_type_name(spec.type), ", but is ", value.to_toml()));
    return std::nullopt;
  }
  bool is_number = spec.type != OptionType::kBool && spec.type != OptionType::kString;
  double number = number_of(*typed);
  if (is_number && std::isnan(number)) {
    errors.push_back(at + "is not a number");
  } else if (is_number && spec.min && number < *spec.min) {
    errors.push_back(str_cat(at, "is ", value.to_toml(), ", but must be at least ", *spec.min));
  } else if (is_number && spec.max && number > *spec.max) {
    errors.push_back(str_cat(at, "is ", value.to_toml(), ", but must be at most ", *spec.max));
  } else if (!spec.values.empty() &&
             std::none_of(spec.values.begin(), spec.values.end(),
                          [&](const Value& allowed) { return equal(allowed, *typed); })) {
    errors.push_back(str_cat(at, "is ", value.to_toml(), ", but must be one of ", list_of(spec.values)));
  }
  return typed;
}

}  // namespace

std::string_view option_type_name(OptionType type) { return kTypeNames[static_cast<int>(type)]; }

std::optional<OptionType> option_type_from_name(std::string_view name) {
  auto found = std::find(std::begin(kTypeNames), std::end(kTypeNames), name);
  if (found == std::end(kTypeNames)) return std::nullopt;
  return static_cast<OptionType>(found - std::begin(kTypeNames));
}

Result<std::vector<OptionSetting>> validate_options(std::string_view provider_id,
                                                    std::span<const OptionSpec> declared,
                                                    const Table& values) {
  std::vector<std::string> errors, names;
  for (const OptionSpec& spec : declared) names.push_back(spec.name);
  for (const auto& [name, value] : values) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::string section = str_cat("provider.", provider_id, ".options.");
    std::string hint = names.empty() ? str_cat(" (provider '", provider_id, "' has no options)")
                                     : suggestion(name, names, section);
    errors.push_back(str_cat(value.where().to_string(), ": unknown option '", section, name, "'", hint));
  }
  std::vector<OptionSetting> settings;
  for (const OptionSpec& spec : declared) {
    const Value* given = spec.default_value ? &*spec.default_value : nullptr;
    for (const auto& member : values) {
      if (member.first == spec.name) given = &member.second;
    }
    if (given == nullptr) continue;
    std::string key = str_cat("provider.", provider_id, ".options.", spec.name);
    if (std::optional<Value> typed = check(spec, key, *given, errors))
      settings.push_back({spec.name, std::move(*typed)});
  }
  if (!errors.empty()) return config_error(join(errors, "\n"));
  return settings;
}

}  // namespace tenon::config
