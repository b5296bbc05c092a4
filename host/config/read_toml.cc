// Compiled with toml++'s exceptions; only std::bad_alloc leaves this file. Without exceptions toml++ marks allocating
// functions noexcept, and running out of memory would end the process. Numbers are not read with a stream, because a
// stream reports running out of memory as a bad number.
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#define TOML_FLOAT_CHARCONV 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>

#include "host/config/read.h"

namespace tenon::config {
namespace {

// Turns the parser's nodes into values. The first node without a counterpart is reported in `error`.
class Converter {
 public:
  explicit Converter(const std::string& source) : source_(source) {}

  Value convert(const toml::node& node, int depth) {
    Location where{source_, static_cast<int>(node.source().begin.line)};
    if (depth > kMaxDepth) fail(where, str_cat("nested deeper than ", kMaxDepth, " levels"));
    if (!error_.ok()) return Value(false, where);
    if (const toml::table* table = node.as_table()) return Value(convert_table(*table, depth), where);
    if (const toml::array* array = node.as_array()) {
      Array out;
      for (const toml::node& element : *array) out.push_back(convert(element, depth + 1));
      return Value(std::move(out), where);
    }
    if (const auto* text = node.as_string()) return Value(text->get(), where);
    if (const auto* flag = node.as_boolean()) return Value(flag->get(), where);
    if (const auto* number = node.as_integer()) return Value(number->get(), where);
    if (const auto* real = node.as_floating_point()) return Value(real->get(), where);
    fail(where, "dates and times are not allowed; write a string");
    return Value(false, where);
  }

  const Status& error() const { return error_; }

 private:
  // The library sorts tables by key. The positions restore the order of the file.
  Table convert_table(const toml::table& table, int depth) {
    struct Member {
      const toml::key* key;
      const toml::node* node;
    };
    std::vector<Member> members;
    for (auto&& [key, node] : table) members.push_back({&key, &node});
    std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
      const auto& first = a.key->source().begin;
      const auto& second = b.key->source().begin;
      return first.line != second.line ? first.line < second.line : first.column < second.column;
    });
    Table out;
    for (const Member& member : members)
      out.emplace_back(member.key->str(), convert(*member.node, depth + 1));
    return out;
  }

  void fail(const Location& where, std::string_view what) {
    if (error_.ok()) error_ = config_error(where.to_string(), ": ", what);
  }

  const std::string& source_;
  Status error_;
};

}  // namespace

Result<Value> read_toml(std::string_view text, const std::string& source) {
  toml::table parsed;
  try {
    parsed = toml::parse(text);  // without a source name: the library would copy it in a noexcept function
  } catch (const toml::parse_error& error) {
    return config_error(source, ":", error.source().begin.line, ": invalid TOML: ", error.description());
  }
  Converter converter(source);
  Value root = converter.convert(parsed, 0);
  if (!converter.error().ok()) return converter.error();
  return root;
}

}  // namespace tenon::config
