// A value as a person wrote it in a config file, a flag or a variable: what TOML and JSON have in common,
// plus the place it came from so that every complaint can point at it. It does NOT know which keys exist;
// schema.h does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenon::config {

class Value;
using Array = std::vector<Value>;
/// In the order of the file; keys are unique.
using Table = std::vector<std::pair<std::string, Value>>;

/// Where a value was written. `source` is a file path, "--set" or "environment variable TENON_X"; line 0 = no
/// lines.
struct Location {
  std::string source;
  int line = 0;

  /// "site.toml:12", or the bare source when there is no line.
  std::string to_string() const;
};

/// An immutable-by-habit tree of booleans, 64-bit integers, doubles, strings, arrays and tables.
class Value {
 public:
  using Data = std::variant<bool, int64_t, double, std::string, Array, Table>;

  Value() : data_(false) {}
  Value(Data data, Location where) : data_(std::move(data)), where_(std::move(where)) {}

  const Data& data() const { return data_; }
  const Location& where() const { return where_; }

  /// The content when it has that type, else null. Borrowed from this value.
  const bool* as_bool() const { return std::get_if<bool>(&data_); }
  const int64_t* as_int() const { return std::get_if<int64_t>(&data_); }
  const double* as_double() const { return std::get_if<double>(&data_); }
  const std::string* as_string() const { return std::get_if<std::string>(&data_); }
  const Array* as_array() const { return std::get_if<Array>(&data_); }
  const Table* as_table() const { return std::get_if<Table>(&data_); }

  /// "a string", "an integer" ...: for messages.
  std::string_view type_name() const;
  /// TOML text of the value on one line, e.g. `["cuda", "cpu"]`. Reading it back gives an equal value.
  std::string to_toml() const;

 private:
  Data data_;
  Location where_;
};

/// `text` as a basic TOML string with its quotes.
std::string quote_toml(std::string_view text);

}  // namespace tenon::config
