// Options of a provider: how its manifest declares them, and how the values of a config are checked. The host
// knows no option by name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "ep-sdk/shared/option.h"
#include "host/config/value.h"

namespace tenon::config {

using shared::option_type_from_name;
using shared::option_type_name;
using shared::OptionType;

/// One entry of a manifest's `options`.
struct OptionSpec {
  std::string name;
  OptionType type = OptionType::kString;
  std::optional<Value> default_value;
  std::optional<double> min, max;  // kInt, kFloat, kSize (bytes)
  std::vector<Value> values;       // the allowed values; empty = any
  std::string doc;
  bool live = false;  // may change while an instance exists

  /// What is wrong with it in itself, whatever value is given. Empty: nothing.
  std::string complaint() const;
};

/// A validated option. `value` has the declared type; a size is an integer of bytes.
struct OptionSetting {
  std::string name;
  Value value;
};

/// Checks `values` (the table `provider.<id>.options`) against what the manifest of `provider_id` declares: names,
/// types, ranges and allowed values. All complaints are in one Status, a line each, with file and line. On success
/// returns every declared option that has a value, defaults included, in the manifest's order. An integer is
/// accepted for a float.
Result<std::vector<OptionSetting>> validate_options(std::string_view provider_id,
                                                    std::span<const OptionSpec> declared,
                                                    const Table& values);

}  // namespace tenon::config
