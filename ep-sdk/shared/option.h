// What a manifest declares about an option, and whether a value fits. Host and kit judge values by this alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tenon::shared {

enum class OptionType { kBool, kInt, kFloat, kString, kSize };

/// The words of the manifest: "bool", "int", "float", "string", "size".
std::string_view option_type_name(OptionType type);
std::optional<OptionType> option_type_from_name(std::string_view name);

using OptionValue = std::variant<bool, int64_t, double, std::string>;

/// As in TOML: true, 3, 0.5, "fast".
std::string text_of(const OptionValue& value);

struct OptionRule {
  OptionType type = OptionType::kString;
  std::optional<double> min, max;   // of kInt, kFloat and kSize (bytes)
  std::vector<OptionValue> values;  // the allowed values; empty: any
};

/// The value in the option's type: an integer is accepted for a float, a text such as "4MiB" for a size, which becomes
/// an integer of bytes. nullopt when it has another type.
std::optional<OptionValue> as_type(OptionType type, const OptionValue& value);

/// What `typed`, a value of as_type(), must be and is not: "must be at most 64". Empty when it fits.
std::string complaint_of(const OptionRule& rule, const OptionValue& typed);

/// What is wrong with the rule in itself: bounds in the wrong order, an allowed value of another type. Empty: nothing.
std::string complaint_of(const OptionRule& rule);

}  // namespace tenon::shared
