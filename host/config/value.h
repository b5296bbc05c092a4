// A value that a person wrote in a config file, a flag or a variable. It holds what TOML and JSON have in common
// and the location, so that every complaint can name it. It does not know which keys exist; schema.h does.
#pragma once

#include <cstdint>
#include <memory>
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

/// Where a value was written. `source` is a file path, "--set" or "environment variable TENON_X". Line 0 means
/// that the source has no lines.
struct Location {
  std::string source;
  int line = 0;

  /// "site.toml:12", or only the source when there is no line.
  std::string to_string() const;
};

/// An immutable tree of booleans, 64-bit integers, doubles, strings, arrays and tables. Copies share the content,
/// so that copying cannot fail: when memory runs out while a std::variant is copied, libstdc++ 12 destroys a
/// member that was never made.
class Value {
 public:
  using Data = std::variant<bool, int64_t, double, std::string, Array, Table>;

  Value() = default;  // false, without a location
  Value(Data data, Location where)
      : content_(std::make_shared<const Content>(Content{std::move(data), std::move(where)})) {}

  /// The same content at another location. Elements keep their own locations.
  Value at(Location where) const;
  const Location& where() const { return content().where; }

  /// The content if it has that type, else null. Borrowed from this value.
  const bool* as_bool() const { return std::get_if<bool>(&content().data); }
  const int64_t* as_int() const { return std::get_if<int64_t>(&content().data); }
  const double* as_double() const { return std::get_if<double>(&content().data); }
  const std::string* as_string() const { return std::get_if<std::string>(&content().data); }
  const Array* as_array() const { return std::get_if<Array>(&content().data); }
  const Table* as_table() const { return std::get_if<Table>(&content().data); }

  /// For messages: "a string", "an integer".
  std::string_view type_name() const;
  /// The value as one line of TOML, for example `["cuda", "cpu"]`. Reading it back gives an equal value.
  std::string to_toml() const;

 private:
  struct Content {
    Data data;
    Location where;
  };
  const Content& content() const;

  std::shared_ptr<const Content> content_;  // null: false, without a location
};

/// `text` as a basic TOML string with its quotes.
std::string quote_toml(std::string_view text);

}  // namespace tenon::config
