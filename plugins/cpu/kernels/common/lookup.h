// Find the position of a string or number in a list.
#pragma once

#include <bit>
#include <string>
#include <unordered_map>

#include "tenon/ep.hpp"

namespace tenon::cpu {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

/// Of equal strings the last one counts.
class StringIndex {
 public:
  StringIndex() = default;
  explicit StringIndex(const std::vector<std::string>& strings) {
    for (const std::string& text : strings) add(text);
  }
  void add(std::string text) { places_[std::move(text)] = next_++; }
  /// Returns -1 when it is not in the list.
  int64_t find(std::string_view text) const {
    const auto found = places_.find(text);
    return found == places_.end() ? -1 : found->second;
  }

 private:
  std::unordered_map<std::string, int64_t, StringHash, std::equal_to<>> places_;
  int64_t next_ = 0;
};

/// Floating point numbers compare by value: all NaNs are equal, and so are both zeros.
class NumberIndex {
 public:
  NumberIndex() = default;
  template <class T>
  explicit NumberIndex(std::span<const T> numbers) {
    for (const T number : numbers) add(number);
  }
  template <class T>
  void add(T number) {
    places_[key(number)] = next_++;
  }
  template <class T>
  int64_t find(T number) const {
    const auto found = places_.find(key(number));
    return found == places_.end() ? -1 : found->second;
  }

 private:
  template <class T>
  static uint64_t key(T number) {
    if constexpr (std::is_floating_point_v<T>) {
      if (number != number) return ~uint64_t{0};
      return std::bit_cast<uint64_t>(static_cast<double>(number) + 0.0);
    } else {
      return static_cast<uint64_t>(static_cast<int64_t>(number));
    }
  }
  std::unordered_map<uint64_t, int64_t> places_;
  int64_t next_ = 0;
};

}  // namespace tenon::cpu
