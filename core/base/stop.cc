#include "core/base/stop.h"

#include <chrono>

namespace tenon {

constinit thread_local const Stop* detail::t_stop = nullptr;

int64_t steady_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t steady_after_ns(int64_t ns) {
  const int64_t now = steady_now_ns();
  return ns > INT64_MAX - now ? INT64_MAX : now + ns;
}

Status Stop::check(std::string_view doing) const {
  const std::string_view during = doing.empty() ? "" : " while ";
  // When the deadline passes, the word is set as well. So the word is read before the time, and counts only after it.
  const bool is_word_set = word != nullptr && __atomic_load_n(word, __ATOMIC_ACQUIRE) != 0;
  if (deadline_ns != 0 && steady_now_ns() >= deadline_ns) {
    return Status(StatusCode::kDeadlineExceeded, str_cat(whose, " has passed", during, doing),
                  ErrorKind::kDeadline);
  }
  if (is_word_set) {
    return Status(StatusCode::kCancelled, str_cat(what, " was cancelled", during, doing),
                  ErrorKind::kCancelled);
  }
  return Status();
}

Status or_stopped(Status status, std::string_view doing) {
  if (status.ok() || status.kind() == ErrorKind::kDeadline) return status;
  Status stopped = check_stop(doing);
  return stopped.ok() ? status : std::move(stopped).with_context(status.where());
}

}  // namespace tenon
