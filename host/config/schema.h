// The table of configuration keys. It drives parsing, checking, defaults, `config show` and the reference page. A
// new key is one row here and one member of Settings.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/config.h"
#include "host/config/words.h"

namespace tenon::config {

enum class KeyKind {
  kBool,
  kInt,
  kFloat,
  kString,
  kSize,       // bytes: an integer, or a string with a unit
  kEnum,       // one of `choices`
  kStrings,    // a list of strings
  kOrder,      // "auto", or a list of providers
  kRange,      // a version range
  kInput,      // shapes.input
  kPairs,      // a list of "input=output"
  kPlacement,  // a list of rules
};

struct KeySpec {
  std::string_view key;  // dotted; "provider.*.version" stands for every provider
  KeyKind kind;
  std::string_view default_toml;  // empty = no value by default
  std::span<const Word> words;    // kEnum
  double min, max;                // kInt, kFloat
  std::string_view doc;
  /// Stores a checked value. `id` is the provider's id for a key with '*'.
  void (*assign)(Settings& settings, std::string_view id, const Value& value);
};

std::span<const KeySpec> schema();

/// The row of a dotted key ("provider.cuda.version" finds "provider.*.version"), or null.
const KeySpec* find_key(std::string_view key);

/// Names that may follow `prefix` ("" = the top level, "select", "provider.cuda"). Used for suggestions.
std::vector<std::string> names_below(std::string_view prefix);

/// "provider.cuda.version" -> "cuda"; empty for other keys.
std::string_view provider_in_key(std::string_view key);

/// Checks a value against its row. Appends complaints to `errors` as "file:line: ..." lines.
void check_value(const KeySpec& spec, std::string_view key, const Value& value,
                 std::vector<std::string>& errors);

/// Typed views of values that check_value accepted.
std::vector<std::string> to_strings(const Value& value);
uint64_t to_bytes(const Value& value);
double to_number(const Value& value);
/// The number of the value's word.
int to_choice(std::span<const Word> words, const Value& value);
std::vector<PlacementRule> to_placement(const Value& value);

/// The words of a kEnum row, without those that are refused.
std::vector<std::string> usable_words(const KeySpec& spec);

/// A key's type for the reference page: "one of error, next", "size", "integer 0..64".
std::string type_text(const KeySpec& spec);

}  // namespace tenon::config
