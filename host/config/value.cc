#include "host/config/value.h"

#include <charconv>
#include <cmath>

#include "core/base/status.h"

namespace tenon::config {
namespace {

bool is_bare_key(std::string_view key) {
  if (key.empty()) return false;
  for (char c : key) {
    bool bare =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!bare) return false;
  }
  return true;
}

std::string double_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void write(std::string& out, const Value& value);

void write_array(std::string& out, const Array& array) {
  out += '[';
  for (size_t i = 0; i < array.size(); ++i) {
    if (i != 0) out += ", ";
    write(out, array[i]);
  }
  out += ']';
}

void write_table(std::string& out, const Table& table) {
  out += '{';
  for (size_t i = 0; i < table.size(); ++i) {
    out += i == 0 ? " " : ", ";
    out += is_bare_key(table[i].first) ? table[i].first : quote_toml(table[i].first);
    out += " = ";
    write(out, table[i].second);
  }
  out += table.empty() ? "}" : " }";
}

void write(std::string& out, const Value& value) {
  if (const bool* flag = value.as_bool()) {
    out += *flag ? "true" : "false";
  } else if (const int64_t* number = value.as_int()) {
    out += std::to_string(*number);
  } else if (const double* real = value.as_double()) {
    out += double_text(*real);
  } else if (const std::string* text = value.as_string()) {
    out += quote_toml(*text);
  } else if (const Array* array = value.as_array()) {
    write_array(out, *array);
  } else {
    write_table(out, *value.as_table());
  }
}

}  // namespace

std::string Location::to_string() const { return line > 0 ? str_cat(source, ":", line) : source; }

std::string_view Value::type_name() const {
  constexpr std::string_view kNames[] = {"a boolean", "an integer", "a number",
                                         "a string",  "a list",     "a table"};
  return kNames[content().data.index()];
}

const Value::Content& Value::content() const {
  static const Content* const none = new Content{};  // values may be read while statics are destroyed
  return content_ ? *content_ : *none;
}

// Copies each type separately; see class Value for why.
Value Value::at(Location where) const {
  if (const bool* flag = as_bool()) return Value(*flag, std::move(where));
  if (const int64_t* number = as_int()) return Value(*number, std::move(where));
  if (const double* real = as_double()) return Value(*real, std::move(where));
  if (const std::string* text = as_string()) return Value(std::string(*text), std::move(where));
  if (const Array* array = as_array()) return Value(Array(*array), std::move(where));
  return Value(Table(*as_table()), std::move(where));
}

std::string Value::to_toml() const {
  std::string out;
  write(out, *this);
  return out;
}

std::string quote_toml(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out += '"';
}

}  // namespace tenon::config
