#include "host/api/type_text.h"

namespace tenon::c_api {
namespace {

constexpr int kMaxDepth = 32;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

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
    if (accept("[")) {
      const size_t end = text_.find(']', at_);
      if (end == std::string_view::npos) return wrong();
      at_ = end + 1;
    }
    return ir::Type::tensor(element);
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
  size_t at_ = 0;
};

}  // namespace

Result<ir::Type> parse_type(std::string_view text) {
  if (text.empty()) return ir::Type();
  return Parser(text).run();
}

}  // namespace tenon::c_api
