#include "host/exec/run_control.h"

namespace tenon::runtime {

Status RunState::begin(const uint32_t* cancel, int64_t deadline_ns) {
  control.stop.word = cancel;
  control.stop.deadline_ns = 0;
  if (deadline_ns == 0) return ok_status();
  control.stop.deadline_ns = steady_after_ns(deadline_ns);
  RETURN_IF_ERROR(alarm.set(control.stop.deadline_ns, cancel));
  control.stop.word = alarm.word();
  return ok_status();
}

void RunState::end() {
  alarm.clear();
  run.threads.finish();
}

}  // namespace tenon::runtime
