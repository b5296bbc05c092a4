// Result<T>: a value, or a Status that says why there is no value. Member names follow std::expected of C++23, so
// that std::expected can replace it later.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "core/base/status.h"

namespace tenon {

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  // NOLINTNEXTLINE(google-explicit-constructor): `return value;` reads well
  Result(T value) : value_(std::move(value)) {}
  /// `status` must be a failure.
  // NOLINTNEXTLINE(google-explicit-constructor): `return status;` reads well
  Result(Status status) : status_(std::move(status)) {
    if (status_.ok()) status_ = internal_error("a Result was built from an OK status");
  }

  bool has_value() const { return value_.has_value(); }
  bool ok() const { return has_value(); }
  explicit operator bool() const { return has_value(); }

  /// Requires has_value().
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

  template <class U>
  T value_or(U&& fallback) && {
    return value_ ? std::move(*value_) : static_cast<T>(std::forward<U>(fallback));
  }

  /// OK when there is a value.
  const Status& error() const& { return status_; }
  Status&& error() && { return std::move(status_); }
  const Status& status() const& { return status_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace tenon

// NOLINTBEGIN(bugprone-macro-parentheses): `lhs` may declare a variable
#define TENON_ASSIGN_OR_RETURN_(tmp, lhs, expr)        \
  auto tmp = (expr);                                   \
  if (!tmp.has_value()) return std::move(tmp).error(); \
  lhs = std::move(tmp).value()
// NOLINTEND(bugprone-macro-parentheses)

/// ASSIGN_OR_RETURN(auto x, make_x()): binds the value, or returns the Status from the enclosing function.
#define ASSIGN_OR_RETURN(lhs, expr) TENON_ASSIGN_OR_RETURN_(TENON_CONCAT_(tenon_result_, __LINE__), lhs, expr)
