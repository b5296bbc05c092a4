#include "host/exec/run_control.h"

#include <algorithm>

namespace tenon::runtime {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

}  // namespace

int64_t RunControl::drain_end() {
  if (drain_end_ns != 0) return drain_end_ns;
  const bool stopped = !check().ok();
  const int64_t now = now_ns();
  if (allowed_ns != 0) {
    const int64_t begin = stopped ? now : stop.deadline_ns;
    const int64_t more = std::max(allowed_ns / 2, 50 * kMillisecond);
    drain_end_ns = more > INT64_MAX - begin ? INT64_MAX : begin + more;
  } else {
    drain_end_ns = stopped ? now + 1000 * kMillisecond : INT64_MAX;
  }
  return drain_end_ns;
}

Status RunState::set_deadline(const uint32_t* cancel, int64_t deadline_ns) {
  control.stop.deadline_ns = steady_after_ns(deadline_ns);
  RETURN_IF_ERROR(alarm.set(control.stop.deadline_ns, cancel));
  control.stop.word = alarm.word();
  return ok_status();
}

}  // namespace tenon::runtime
