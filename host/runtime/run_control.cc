#include "host/runtime/run_control.h"

#include <chrono>

namespace tenon::runtime {

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Status RunControl::check() const {
  if (cancel != nullptr && __atomic_load_n(cancel, __ATOMIC_RELAXED) != 0) {
    return Status(StatusCode::kCancelled, "the Run was cancelled", ErrorKind::kCancelled);
  }
  if (deadline_ns != 0 && now_ns() >= deadline_ns) {
    return Status(StatusCode::kDeadlineExceeded, "the Run's deadline has passed", ErrorKind::kDeadline);
  }
  return ok_status();
}

}  // namespace tenon::runtime
