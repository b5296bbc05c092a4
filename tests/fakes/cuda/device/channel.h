// The device's process: its view of the shared memory, and how it reports.
#pragma once

#include <cuda.h>

#include <cstdarg>
#include <string>

#include "protocol.h"

namespace fake_cuda::device {

/// What the process serves. Set once, before any thread starts.
struct Channel {
  Shared* shared = nullptr;
  DeviceState* state = nullptr;
  uint32_t index = 0;
  unsigned char* pinned = nullptr;

  Queue& queue(uint32_t index_) const { return state->queues[index_]; }
  bool races() const { return shared->races != 0; }
};
extern Channel g_channel;

/// What a thread is doing, for messages. `name` is static or as long as the work.
struct Current {
  const char* kind = "";  // "kernel", "copy", ...
  const char* name = "";
  bool has_threads = false;
};
extern __thread Current g_current;

/// Reports an error that stays, and ends the process. Safe in signal handlers. Only the first report of all threads counts.
[[noreturn]] void fail(CUresult code, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

/// "kernel 'Relu', block (1, 0, 0), thread (3, 0, 0)", of the calling thread. Safe in signal handlers.
const char* current_text() noexcept;

/// Tells all who wait that something has been completed.
void announce_progress(DeviceState& state) noexcept;

}  // namespace fake_cuda::device
