#include "host/api/type_text.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

namespace tenon::c_api {
namespace {

constexpr int kMaxDepth = 32;

class Parser {
 public:
  Parser(std::string_view text, bool dims) : text_(text), dims_(dims) {}

  Result<ir::Type> run() {
    ASSIGN_OR_RETURN(ir::Type type, parse(0));
    if (at_ != text_.size()) return wrong();
    return type;
  }

 private:
  Status wrong() const { return invalid_input("'", text_, "' is not a type (at character ", at_, ")"); }

  bool accept(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Result<ir::Type> parse(int depth) {
    if (depth > kMaxDepth) return wrong();
    if (accept("?")) return ir::Type();
    if (accept("seq(")) return close(parse(depth + 1), ir::Type::sequence);
    if (accept("optional(")) return close(parse(depth + 1), ir::Type::optional);
    if (accept("map(")) return parse_map(depth);
    ASSIGN_OR_RETURN(const ir::ElementType element, parse_element());
    if (!accept("[")) return ir::Type::tensor(element);
    const size_t end = text_.find(']', at_);
    if (end == std::string_view::npos) return wrong();
    ir::Shape shape;
    if (dims_) {
      ASSIGN_OR_RETURN(shape, parse_dims(end));
    }
    at_ = end + 1;
    return ir::Type::tensor(element, std::move(shape));
  }

  /// "2,N,?" up to `end`; "?..." is a shape of unknown rank.
  Result<ir::Shape> parse_dims(size_t end) {
    std::string_view rest = text_.substr(at_, end - at_);
    if (rest == "?...") return ir::Shape();
    ir::Shape shape(std::vector<ir::Dim>{});
    while (!rest.empty()) {
      const size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view word = rest.substr(0, comma);
      if (word.empty() || comma + 1 == rest.size() || shape.rank() == TENON_EP_MAX_RANK) return wrong();
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      int64_t number = 0;
      const auto read = std::from_chars(word.data(), word.data() + word.size(), number);
      const bool is_number = read.ec == std::errc() && read.ptr == word.data() + word.size();
      if (is_number ? number < 0 : (word[0] >= '0' && word[0] <= '9') || word[0] == '-') return wrong();
      if (is_number) {
        shape.dims.emplace_back(number);
      } else {
        shape.dims.emplace_back(word == "?" ? std::string() : std::string(word));
      }
      at_ += comma + 1;
    }
    return shape;
  }

  template <class Wrap>
  Result<ir::Type> close(Result<ir::Type> inner, Wrap wrap) {
    if (!inner.ok()) return inner;
    if (!accept(")")) return wrong();
    return wrap(std::move(*inner));
  }

  Result<ir::Type> parse_map(int depth) {
    ASSIGN_OR_RETURN(const ir::ElementType key, parse_element());
    if (!accept(",")) return wrong();
    return close(parse(depth + 1), [&](ir::Type inner) { return ir::Type::map(key, std::move(inner)); });
  }

  Result<ir::ElementType> parse_element() {
    const size_t end = std::min(text_.find_first_of("[](),", at_), text_.size());
    const ir::ElementType element = ir::element_type_from_name(text_.substr(at_, end - at_));
    if (element == ir::ElementType::kUndefined) return wrong();
    at_ = end;
    return element;
  }

  std::string_view text_;
  bool dims_;
  size_t at_ = 0;
};

}  // namespace

Result<ir::Type> parse_type(std::string_view text, bool dims) {
  if (text.empty()) return ir::Type();
  return Parser(text, dims).run();
}

}  // namespace tenon::c_api
