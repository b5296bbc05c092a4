// The state of one Run, shared by the frames of all its graphs: stop, trace, scratch memory and workers.
#pragma once

#include <cstdint>

#include "core/base/stop.h"
#include "host/device/tenon_run.h"
#include "host/services/alarm.h"

namespace tenon::runtime {

class Trace;

struct RunControl {
  Stop stop;
  Trace* trace = nullptr;
  int64_t allowed_ns = 0;    // the time from the begin of the Run to its deadline; 0: no deadline
  bool left_work = false;    // work of a frame of this Run had not ended by drain_end()
  int64_t drain_end_ns = 0;  // see drain_end(); 0: not known yet

  /// True when the executor must check for a stop, or record, between steps.
  bool is_watched() const { return stop.is_set() || trace != nullptr; }
  /// CANCELLED or DEADLINE_EXCEEDED.
  Status check() const { return stop.check({}); }
  /// The time on the steady clock until which a failed Run waits for work that is still under way; INT64_MAX: it waits
  /// as long as that takes. Work of a Run that is stopped gets half of the time that the Run had, and at least 50 ms; a
  /// second when the Run had no deadline. The same for all graphs of the Run.
  int64_t drain_end();
};

/// Nanoseconds of the steady clock.
inline int64_t now_ns() { return steady_now_ns(); }

/// Serves one Run at a time; the next Run reuses it.
struct RunState {
  RunState() { run.scratch = &scratch; }

  /// Before a Run: sets `cancel` (may be null) and a deadline `deadline_ns` from now (0: none). Kernels see both in the
  /// word of control.stop.
  Status begin(const uint32_t* cancel, int64_t deadline_ns) {
    control.stop.word = cancel;
    control.stop.deadline_ns = 0;
    control.allowed_ns = deadline_ns;
    control.left_work = false;
    control.drain_end_ns = 0;
    return deadline_ns == 0 ? ok_status() : set_deadline(cancel, deadline_ns);
  }
  /// After the Run: releases the workers and clears the alarm. `cancel` is not read any more.
  void end() {
    alarm.clear();
    run.trace = nullptr;
    run.threads.finish();
  }

  ScratchArena scratch;
  tenon_run run;
  RunControl control;
  Alarm alarm;

 private:
  Status set_deadline(const uint32_t* cancel, int64_t deadline_ns);
};

}  // namespace tenon::runtime
