// What one Run brings along: how it may be stopped, where it is recorded, its scratch memory and its workers.
// Shared by the frames of all nested graphs that it enters.
#pragma once

#include <cstdint>

#include "core/base/stop.h"
#include "host/device/run_context.h"
#include "host/services/alarm.h"

namespace tenon::runtime {

class Trace;

struct RunControl {
  Stop stop;
  Trace* trace = nullptr;

  /// Something must be looked at between steps.
  bool is_watched() const { return stop.is_set() || trace != nullptr; }
  /// CANCELLED or DEADLINE_EXCEEDED.
  Status check() const { return stop.check({}); }
};

/// Nanoseconds of the steady clock.
inline int64_t now_ns() { return steady_now_ns(); }

/// One Run at a time; reused by the next one.
struct RunContext {
  RunContext() { run.scratch = &scratch; }

  /// What stops the Run that begins: `cancel` (may be null), and `deadline_ns` from now (0: none). Kernels see both in
  /// the word of control.stop.
  Status begin(const uint32_t* cancel, int64_t deadline_ns);
  /// After the Run: nothing reads `cancel` any more, the workers rest.
  void end();

  ScratchArena scratch;
  tenon_run run;
  RunControl control;
  Alarm alarm;
};

}  // namespace tenon::runtime
