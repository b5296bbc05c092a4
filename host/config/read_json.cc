#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>

#include "host/config/read.h"

namespace tenon::config {
namespace {

using Json = nlohmann::json;

// How far the parser has read. It reads one character past a number, which may be the end of the line.
struct Position {
  int line = 1;
  bool after_newline = false;
};

// Passes characters to the parser and counts lines, which the parser does not report.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, Position* position) : at_(at), position_(position) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    position_->after_newline = *at_ == '\n';
    position_->line += position_->after_newline;
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  Position* position_;
};

// Builds the tree from the parser's events. Returning false stops the parser.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(const std::string& source, const Position& position) : source_(source), position_(position) {}

  bool null() override {
    if (open_.empty()) return fail("null is not allowed here");
    if (open_.back().is_array) return fail("null is not allowed in a list");
    return true;
  }
  bool boolean(bool flag) override { return add(flag); }
  bool number_integer(number_integer_t number) override { return add_number(static_cast<int64_t>(number)); }
  bool number_unsigned(number_unsigned_t number) override {
    if (number > static_cast<number_unsigned_t>(INT64_MAX))
      return fail("the integer does not fit in 64 bits");
    return add_number(static_cast<int64_t>(number));
  }
  bool number_float(number_float_t number, const string_t&) override {
    return add_number(static_cast<double>(number));
  }
  bool string(string_t& text) override { return add(std::move(text)); }
  bool binary(binary_t&) override { return fail("binary data is not allowed"); }

  bool start_object(size_t) override { return open(false); }
  bool key(string_t& name) override {
    if (!open_.back().keys.insert(name).second) return fail("key '" + name + "' is given twice");
    open_.back().key = std::move(name);
    return true;
  }
  bool end_object() override {
    Frame frame = std::move(open_.back());
    open_.pop_back();
    return add(Value(std::move(frame.table), frame.where));
  }
  bool start_array(size_t) override { return open(true); }
  bool end_array() override {
    Frame frame = std::move(open_.back());
    open_.pop_back();
    return add(Value(std::move(frame.array), frame.where));
  }

  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    std::string_view what = error.what();
    size_t prefix = what.find("] ");  // end of the library's own error number
    if (prefix != std::string_view::npos) what.remove_prefix(prefix + 2);
    return fail("not valid JSON: " + std::string(what));
  }

  const Status& error() const { return error_; }
  const std::optional<Value>& root() const { return root_; }

 private:
  struct Frame {
    bool is_array;
    Location where;
    std::string key;
    Array array;
    Table table;
    std::unordered_set<std::string> keys;  // of `table`
  };

  bool open(bool is_array) {
    if (open_.size() >= static_cast<size_t>(kMaxDepth))
      return fail(str_cat("nested deeper than ", kMaxDepth, " levels"));
    open_.push_back({is_array, here(), {}, {}, {}, {}});
    return true;
  }

  bool add_number(Value::Data data) {
    return add(Value(std::move(data), {source_, position_.line - position_.after_newline}));
  }
  bool add(Value::Data data) { return add(Value(std::move(data), here())); }
  bool add(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().is_array) {
      open_.back().array.push_back(std::move(value));
    } else {
      open_.back().table.emplace_back(std::move(open_.back().key), std::move(value));
    }
    return true;
  }

  bool fail(const std::string& what) {
    if (error_.ok()) error_ = config_error(here().to_string(), ": ", what);
    return false;
  }

  Location here() const { return {source_, position_.line}; }

  const std::string& source_;
  const Position& position_;
  std::vector<Frame> open_;
  std::optional<Value> root_;
  Status error_;
};

}  // namespace

Result<Value> read_json(std::string_view text, const std::string& source) {
  Position position;
  Builder builder(source, position);
  bool parsed = false;
  try {
    CountingIterator begin(text.data(), &position), end(text.data() + text.size(), &position);
    parsed = Json::sax_parse(begin, end, &builder);
  } catch (const Json::exception& error) {  // our event functions do not throw, but the library may
    return config_error(source, ": not valid JSON: ", error.what());
  }
  if (!builder.error().ok()) return builder.error();
  if (!parsed || !builder.root()) return config_error(source, ": not valid JSON");
  if (!builder.root()->as_table()) return config_error(source, ":1: the document must be an object");
  return *builder.root();
}

}  // namespace tenon::config
