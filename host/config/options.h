// Options of a provider: what its manifest declares and how a config's values are checked against that. The
// host knows no option by name; only the manifest does.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "host/config/value.h"

namespace tenon::config {

enum class OptionType { kBool, kInt, kFloat, kString, kSize };

/// "bool", "int", "float", "string", "size": the words of the manifest.
std::string_view option_type_name(OptionType type);
std::optional<OptionType> option_type_from_name(std::string_view name);

/// One entry of a manifest's `options`.
struct OptionSpec {
  std::string name;
  OptionType type = OptionType::kString;
  std::optional<Value> default_value;
  std::optional<double> min, max;  // kInt, kFloat, kSize (bytes)
  std::vector<Value> values;       // when not empty: the only ones allowed
  std::string doc;
  bool live = false;  // may change while an instance exists
};

/// An option's value after validation; `value` holds the declared type (a size is an integer of bytes).
struct OptionSetting {
  std::string name;
  Value value;
};

/// Checks `values` (the table `provider.<id>.options`, one pair per option) against what the manifest of
/// `provider_id` declares: unknown names (with the nearest valid one), types, ranges, allowed values. All
/// complaints are in one Status, a line each, with file and line. On success gives the settings of every
/// declared option that has a value, defaults included, in the manifest's order. An integer is accepted where
/// a float is declared.
Result<std::vector<OptionSetting>> validate_options(std::string_view provider_id,
                                                    std::span<const OptionSpec> declared,
                                                    const Table& values);

}  // namespace tenon::config
