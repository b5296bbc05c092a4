#include "host/config/options.h"

#include <algorithm>
#include <variant>

#include "host/base/text.h"
#include "host/config/config.h"

namespace tenon::config {
namespace {

// nullopt for a list or table, which no option takes.
std::optional<shared::OptionValue> plain_of(const Value& value) {
  if (const bool* flag = value.as_bool()) return *flag;
  if (const int64_t* number = value.as_int()) return *number;
  if (const double* real = value.as_double()) return *real;
  if (const std::string* text = value.as_string()) return *text;
  return std::nullopt;
}

Value value_of(const shared::OptionValue& plain, const Location& where) {
  return std::visit([&](const auto& content) { return Value(content, where); }, plain);
}

shared::OptionRule rule_of(const OptionSpec& spec) {
  shared::OptionRule rule{spec.type, spec.min, spec.max, {}};
  for (const Value& value : spec.values) {
    if (std::optional<shared::OptionValue> plain = plain_of(value)) rule.values.push_back(std::move(*plain));
  }
  return rule;
}

// The value as the option needs it. Otherwise adds a complaint and returns nullopt.
std::optional<Value> check(const OptionSpec& spec, const std::string& key, const Value& value,
                           std::vector<std::string>& errors) {
  const std::string at = str_cat(value.where().to_string(), ": '", key, "' ");
  const std::optional<shared::OptionValue> plain = plain_of(value);
  const std::optional<shared::OptionValue> typed = plain ? shared::as_type(spec.type, *plain) : std::nullopt;
  if (!typed) {
    errors.push_back(
        str_cat(at, "must be of type ", option_type_name(spec.type), ", but is ", value.to_toml()));
    return std::nullopt;
  }
  if (const std::string complaint = shared::complaint_of(rule_of(spec), *typed); !complaint.empty())
    errors.push_back(str_cat(at, "is ", value.to_toml(), ", but ", complaint));
  return value_of(*typed, value.where());
}

}  // namespace

std::string OptionSpec::complaint() const {
  for (const Value& value : values) {
    if (!plain_of(value)) return str_cat("allows ", value.to_toml(), ", which is no value of an option");
  }
  return shared::complaint_of(rule_of(*this));
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
