// What one Run brings along: how it may be stopped, where it is recorded, its scratch memory and its workers.
// Shared by the frames of all nested graphs that it enters.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "host/runtime/run_context.h"

namespace tenon::runtime {

class Trace;

struct RunControl {
  const uint32_t* cancel = nullptr;  // read atomically; not zero: stop
  int64_t deadline_ns = 0;           // on the steady clock; 0: none
  Trace* trace = nullptr;

  /// Something must be looked at between steps.
  bool is_watched() const { return cancel != nullptr || deadline_ns != 0 || trace != nullptr; }
  /// CANCELLED or DEADLINE_EXCEEDED.
  Status check() const;
};

/// Nanoseconds of the steady clock.
int64_t now_ns();

/// One Run at a time; reused by the next one.
struct RunContext {
  RunContext() { run.scratch = &scratch; }

  ScratchArena scratch;
  tenon_run run;
  RunControl control;
};

}  // namespace tenon::runtime
