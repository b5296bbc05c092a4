// Stops work before it is done: when somebody sets a word, or when a deadline passes. A load or a Run sets the Stop
// of its thread once. Every long operation below it calls check_stop().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/status.h"

namespace tenon {

/// Nanoseconds of the steady clock.
int64_t steady_now_ns();
/// The time `ns` from now on the steady clock; INT64_MAX when the sum would overflow.
int64_t steady_after_ns(int64_t ns);

struct Stop {
  const uint32_t* word = nullptr;  // read atomically; not zero: stop. Providers poll it
  int64_t deadline_ns = 0;         // on the steady clock; 0: none
  /// For messages: whose deadline it is. The text must outlive the Stop.
  std::string_view whose = "the Run's deadline";
  /// For messages: what is stopped.
  std::string_view what = "the Run";

  bool is_set() const { return word != nullptr || deadline_ns != 0; }
  /// DEADLINE_EXCEEDED or CANCELLED when the work must stop. `doing` ("shapes were inferred") names the work in the
  /// message; may be empty.
  Status check(std::string_view doing) const;
};

namespace detail {
extern constinit thread_local const Stop* t_stop;
}

/// The Stop of this thread; null outside of every StopScope.
inline const Stop* current_stop() { return detail::t_stop; }
/// current_stop()->check(), or OK.
inline Status check_stop(std::string_view doing) {
  const Stop* stop = current_stop();
  return stop == nullptr || !stop->is_set() ? Status() : stop->check(doing);
}
/// The word of current_stop(), to pass to providers; may be null.
inline const uint32_t* current_stop_word() {
  const Stop* stop = current_stop();
  return stop == nullptr ? nullptr : stop->word;
}
/// The failure comes from a Stop. Trying the same work another way would be stopped as well.
inline bool is_stopped(const Status& status) {
  return status.kind() == ErrorKind::kDeadline || status.kind() == ErrorKind::kCancelled;
}
/// The failure of this thread's Stop when `status` is a failure and the work must stop, otherwise `status`.
Status or_stopped(Status status, std::string_view doing);

/// Makes `stop` the Stop of this thread until the scope ends. Scopes nest.
class StopScope {
 public:
  /// Borrows `stop`, which must outlive the scope.
  explicit StopScope(const Stop* stop) : outer_(std::exchange(detail::t_stop, stop)) {}
  ~StopScope() { detail::t_stop = outer_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const Stop* outer_;
};

}  // namespace tenon
