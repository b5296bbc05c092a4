#include "host/base/json.h"

#include <charconv>
#include <cmath>

#include "core/base/utf8.h"

namespace tenon {
namespace {

template <class T>
std::string number_text(T value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

void write_control(char c, std::string* out) {
  constexpr std::string_view kLetters = "btn?fr";  // for 8 to 13; 11 has no letter
  const auto number = static_cast<unsigned char>(c);
  const bool has_letter = number >= 8 && number < 8 + kLetters.size() && number != 11;
  *out += '\\';
  if (has_letter) {
    *out += kLetters[number - 8u];
    return;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  *out += "u00";
  *out += kDigits[number >> 4];
  *out += kDigits[number & 15];
}

void write_text(std::string_view text, std::string* out) {
  *out += '"';
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const char first = text[0];
    if (length == 0) {
      *out += "\xEF\xBF\xBD";
    } else if (length == 1 && static_cast<unsigned char>(first) < 0x20) {
      write_control(first, out);
    } else {
      if (first == '"' || first == '\\') *out += '\\';
      out->append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  *out += '"';
}

void write_newline(int indent, int depth, std::string* out) {
  if (indent >= 0) out->append(1, '\n').append(static_cast<size_t>(indent) * static_cast<size_t>(depth), ' ');
}

}  // namespace

Json::Json(std::initializer_list<Member> members) : kind_(Kind::kObject), inside_(members) {}
Json::Json(const Json& other) = default;
Json& Json::operator=(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::array() {
  Json out;
  out.kind_ = Kind::kArray;
  return out;
}

Json Json::object() {
  Json out;
  out.kind_ = Kind::kObject;
  return out;
}

Json& Json::operator[](std::string_view key) {
  kind_ = Kind::kObject;
  for (Member& member : inside_) {
    if (member.name == key) return member.value;
  }
  inside_.push_back({std::string(key), {}});
  return inside_.back().value;
}

void Json::push_back(Json element) {
  kind_ = Kind::kArray;
  inside_.push_back({{}, std::move(element)});
}

bool Json::empty() const { return inside_.empty(); }

std::string Json::dump(int indent) const {
  std::string out;
  write(indent, 0, &out);
  return out;
}

std::string Json::text_of(bool value) { return value ? "true" : "false"; }
std::string Json::text_of(int64_t value) { return number_text(value); }
std::string Json::text_of(uint64_t value) { return number_text(value); }

std::string Json::text_of(double value) {
  if (!std::isfinite(value)) return "null";
  std::string text = number_text(value);
  // A reader must see a real number.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string Json::text_of(std::string_view value) {
  std::string out;
  write_text(value, &out);
  return out;
}

void Json::write(int indent, int depth, std::string* out) const {
  if (kind_ == Kind::kScalar) {
    *out += text_.empty() ? "null" : text_;
    return;
  }
  const bool is_object = kind_ == Kind::kObject;
  *out += is_object ? '{' : '[';
  for (const Member& member : inside_) {
    if (&member != inside_.data()) *out += ',';
    write_newline(indent, depth + 1, out);
    if (is_object) {
      write_text(member.name, out);
      *out += indent >= 0 ? ": " : ":";
    }
    member.value.write(indent, depth + 1, out);
  }
  if (!inside_.empty()) write_newline(indent, depth, out);
  *out += is_object ? '}' : ']';
}

}  // namespace tenon
