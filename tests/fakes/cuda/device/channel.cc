#include "channel.h"

#include <unistd.h>

#include <cstdio>

#include "futex.h"
#include "kernel_abi.h"

namespace fake_cuda::device {

Channel g_channel;
__thread Current g_current;

namespace {

std::atomic<bool> g_failed{false};

}  // namespace

void fail(CUresult code, const char* format, ...) noexcept {
  if (g_failed.exchange(true)) {
    for (;;) pause();  // the other thread ends the process
  }
  DeviceState& state = *g_channel.state;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(state.message.data(), state.message.size(), format, arguments);
  va_end(arguments);
  state.error.store(code);
  ++state.progress;
  futex_wake(state.progress);
  _exit(1);
}

const char* current_text() noexcept {
  static __thread char text[512];
  const Index3 &block = fake_cuda_block_index, &thread = fake_cuda_thread_index;
  if (g_current.has_threads) {
    std::snprintf(text, sizeof(text), "%s '%s', block (%u, %u, %u), thread (%u, %u, %u)", g_current.kind,
                  g_current.name, block.x, block.y, block.z, thread.x, thread.y, thread.z);
  } else {
    std::snprintf(text, sizeof(text), "%s '%s'", g_current.kind, g_current.name);
  }
  return text;
}

void announce_progress(DeviceState& state) noexcept {
  if (state.waiters.load() == 0) return;
  ++state.progress;
  futex_wake(state.progress);
}

}  // namespace fake_cuda::device
