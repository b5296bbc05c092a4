// Writes JSON. Unlike common JSON libraries, it does not allocate in destructors or moves, where a failed
// allocation would end the process.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tenon {

/// null, a scalar, an array, or an object whose members keep their order.
class Json {
 public:
  struct Member;

  Json() = default;
  /// An object: {{"name", "conv"}, {"count", 3}}.
  Json(std::initializer_list<Member> members);
  /// A text, number or bool.
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_convertible_v<const T&, std::string_view>)
      Json(const T& value);  // NOLINT(google-explicit-constructor): members read well
  template <class T>
  Json(const std::vector<T>& values);  // NOLINT(google-explicit-constructor): members read well
  template <class T>
  // NOLINTNEXTLINE(google-explicit-constructor): members read well
  Json(const std::map<std::string, T>& values);
  Json(const Json& other);
  Json& operator=(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json array();
  static Json object();

  /// The member of that name; a missing one is added at the end. A null value becomes an object.
  Json& operator[](std::string_view key);
  Json& operator[](int) = delete;  // a literal 0 would convert to a null string
  /// Appends to an array. A null value becomes an array.
  void push_back(Json element);
  /// True without elements or members.
  bool empty() const;

  /// One line, or with `indent` spaces per level. Bytes that are not UTF-8 become U+FFFD; NaN and infinities
  /// become null.
  std::string dump(int indent = -1) const;

 private:
  enum class Kind : uint8_t { kScalar, kArray, kObject };

  static std::string text_of(bool value);
  static std::string text_of(int64_t value);
  static std::string text_of(uint64_t value);
  static std::string text_of(double value);
  static std::string text_of(std::string_view value);
  void write(int indent, int depth, std::string* out) const;

  Kind kind_ = Kind::kScalar;
  std::string text_;            // a scalar's JSON text; empty means null
  std::vector<Member> inside_;  // an object's members, or an array's elements without names
};

struct Json::Member {
  std::string name;
  Json value;
};

template <class T>
requires(std::is_arithmetic_v<T> ||
         std::is_convertible_v<const T&, std::string_view>) Json::Json(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    text_ = text_of(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    text_ = text_of(static_cast<double>(value));
  } else if constexpr (std::is_integral_v<T>) {
    text_ = text_of(static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(value));
  } else {
    text_ = text_of(std::string_view(value));
  }
}

template <class T>
Json::Json(const std::vector<T>& values) : kind_(Kind::kArray) {
  for (const T& value : values) push_back(value);
}

template <class T>
Json::Json(const std::map<std::string, T>& values) : kind_(Kind::kObject) {
  for (const auto& [name, value] : values) inside_.push_back({name, value});
}

}  // namespace tenon
