#include "core/ops/arithmetic.h"

#include <algorithm>

namespace tenon::ops::arithmetic {
namespace {

constexpr size_t kMaxSymbol = 64;

Element expression(const std::string& left, char op, const std::string& right, bool commutes) {
  if (left.empty() || right.empty() || left.size() + right.size() > kMaxSymbol) return {};
  auto operand = [](const std::string& text) {
    return text.find_first_of("+*/ ") == std::string::npos ? text : "(" + text + ")";
  };
  const bool swap = commutes && right < left;
  return Element(operand(swap ? right : left) + op + operand(swap ? left : right));
}

std::string text_of(const Element& element) {
  if (element.known) return element.value >= 0 ? std::to_string(element.value) : std::string();
  return element.symbol;
}

}  // namespace

Element add(const Element& a, const Element& b) {
  int64_t sum = 0;
  if (a.known && b.known) return __builtin_add_overflow(a.value, b.value, &sum) ? Element() : Element(sum);
  if (a.known && a.value == 0) return b;
  if (b.known && b.value == 0) return a;
  return expression(text_of(a), '+', text_of(b), true);
}

Element subtract(const Element& a, const Element& b) {
  int64_t difference = 0;
  if (a.known && b.known)
    return __builtin_sub_overflow(a.value, b.value, &difference) ? Element() : Element(difference);
  if (b.known && b.value == 0) return a;
  return a.same(b) ? Element(0) : Element();
}

Element multiply(const Element& a, const Element& b) {
  int64_t product = 0;
  if (a.known && b.known)
    return __builtin_mul_overflow(a.value, b.value, &product) ? Element() : Element(product);
  if ((a.known && a.value == 0) || (b.known && b.value == 0)) return Element(0);
  if (a.known && a.value == 1) return b;
  if (b.known && b.value == 1) return a;
  return expression(text_of(a), '*', text_of(b), true);
}

Element divide(const Element& a, const Element& b) {
  if (b.known && b.value == 0) return {};
  if (a.known && b.known) return b.value == -1 ? subtract(Element(0), a) : Element(a.value / b.value);
  if (b.known && b.value == 1) return a;
  return expression(text_of(a), '/', text_of(b), false);
}

Element modulo(const Element& a, const Element& b, bool c_style) {
  if (!a.known || !b.known || b.value == 0 || b.value == -1) return {};
  const int64_t rest = a.value % b.value;
  return Element(!c_style && rest != 0 && ((rest < 0) != (b.value < 0)) ? rest + b.value : rest);
}

Element minimum(const Element& a, const Element& b) {
  if (a.known && b.known) return Element(std::min(a.value, b.value));
  return a.same(b) ? a : Element();
}

Element maximum(const Element& a, const Element& b) {
  if (a.known && b.known) return Element(std::max(a.value, b.value));
  if (a.known && a.value <= 0 && !b.symbol.empty()) return b;
  if (b.known && b.value <= 0 && !a.symbol.empty()) return a;
  return a.same(b) ? a : Element();
}

Element equal(const Element& a, const Element& b) {
  if (a.known && b.known) return Element(a.value == b.value ? 1 : 0);
  if (a.same(b)) return Element(1);
  // A symbol is never negative.
  if ((a.known && a.value < 0 && !b.symbol.empty()) || (b.known && b.value < 0 && !a.symbol.empty()))
    return Element(0);
  return {};
}

}  // namespace tenon::ops::arithmetic
