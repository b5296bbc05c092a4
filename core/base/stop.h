// When work that is under way must end before it is done: somebody sets a word, or a deadline passes. Loading and Runs
// state it once for their thread; whatever may take long below them asks check_stop().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace tenon {

/// Nanoseconds of the steady clock.
int64_t steady_now_ns();
/// A point on the steady clock, `ns` from now; as late as there is one when the sum would overflow.
int64_t steady_after_ns(int64_t ns);

struct Stop {
  const uint32_t* word = nullptr;  // read atomically; not zero: stop. What providers look at
  int64_t deadline_ns = 0;         // on the steady clock; 0: none
  /// Of messages: whose deadline it is. Lives as long as the Stop.
  std::string_view whose = "the Run's deadline";

  bool is_set() const { return word != nullptr || deadline_ns != 0; }
  /// DEADLINE_EXCEEDED or CANCELLED; `doing` ("shapes were inferred") says what is cut short, and may be empty.
  Status check(std::string_view doing) const;
};

/// What this thread works under; null outside of every scope.
const Stop* current_stop();
/// current_stop()->check(), or OK.
inline Status check_stop(std::string_view doing) {
  const Stop* stop = current_stop();
  return stop == nullptr || !stop->is_set() ? Status() : stop->check(doing);
}
/// The word of current_stop(), for providers; may be null.
inline const uint32_t* current_stop_word() {
  const Stop* stop = current_stop();
  return stop == nullptr ? nullptr : stop->word;
}
/// The failure comes from a Stop: whoever does the same work otherwise is stopped as well.
inline bool is_stopped(const Status& status) {
  return status.kind() == ErrorKind::kDeadline || status.kind() == ErrorKind::kCancelled;
}
/// `status`, or why the work was stopped when that is what a callee means by failing.
Status or_stopped(Status status, std::string_view doing);

/// Makes a Stop the one of this thread while it lives. Scopes nest.
class StopScope {
 public:
  /// Borrowed.
  explicit StopScope(const Stop* stop);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const Stop* outer_;
};

}  // namespace tenon
