#include "ep-sdk/shared/option.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "ep-sdk/shared/size.h"

namespace tenon::shared {
namespace {

constexpr std::string_view kTypeNames[] = {"bool", "int", "float", "string", "size"};

std::string number_text(double value) {
  char buffer[64];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

double number_of(const OptionValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return static_cast<double>(*number);
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? 0 : *real;
}

}  // namespace

std::string_view option_type_name(OptionType type) { return kTypeNames[static_cast<int>(type)]; }

std::optional<OptionType> option_type_from_name(std::string_view name) {
  const auto found = std::find(std::begin(kTypeNames), std::end(kTypeNames), name);
  if (found == std::end(kTypeNames)) return std::nullopt;
  return static_cast<OptionType>(found - std::begin(kTypeNames));
}

std::string text_of(const OptionValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value)) return number_text(*real);
  return "\"" + std::get<std::string>(value) + "\"";
}

std::optional<OptionValue> as_type(OptionType type, const OptionValue& value) {
  const auto* integer = std::get_if<int64_t>(&value);
  switch (type) {
    case OptionType::kBool:
      return std::holds_alternative<bool>(value) ? std::optional(value) : std::nullopt;
    case OptionType::kInt:
      return integer != nullptr ? std::optional(value) : std::nullopt;
    case OptionType::kFloat:
      if (integer != nullptr) return static_cast<double>(*integer);
      return std::holds_alternative<double>(value) ? std::optional(value) : std::nullopt;
    case OptionType::kString:
      return std::holds_alternative<std::string>(value) ? std::optional(value) : std::nullopt;
    case OptionType::kSize:
      if (integer != nullptr && *integer >= 0) return value;
      if (const auto* text = std::get_if<std::string>(&value)) {
        if (const std::optional<uint64_t> bytes = read_size(*text)) return static_cast<int64_t>(*bytes);
      }
      return std::nullopt;
  }
  return std::nullopt;
}

std::string complaint_of(const OptionRule& rule, const OptionValue& typed) {
  const double number = number_of(typed);
  if (rule.type != OptionType::kBool && rule.type != OptionType::kString) {
    if (std::isnan(number)) return "must be a number";
    if (rule.min && number < *rule.min) return "must be at least " + number_text(*rule.min);
    if (rule.max && number > *rule.max) return "must be at most " + number_text(*rule.max);
  }
  std::string allowed;
  for (const OptionValue& value : rule.values) {
    if (as_type(rule.type, value) == typed) return {};
    allowed += (allowed.empty() ? "" : ", ") + text_of(value);
  }
  return allowed.empty() ? std::string() : "must be one of " + allowed;
}

std::string complaint_of(const OptionRule& rule) {
  if (rule.min && rule.max && *rule.min > *rule.max)
    return "has the least value " + number_text(*rule.min) + " above the greatest, " + number_text(*rule.max);
  for (const OptionValue& value : rule.values) {
    if (!as_type(rule.type, value))
      return "allows " + text_of(value) + ", which is not of type " +
             std::string(option_type_name(rule.type));
  }
  return {};
}

}  // namespace tenon::shared
