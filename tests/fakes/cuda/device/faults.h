// Signals of the device's process: what a wrong access, a division by zero or a kernel that never ends becomes.
#pragma once

#include <pthread.h>

namespace fake_cuda::device {

void install_handlers();
/// Gives the calling thread a stack for signals, as those of kernels may be full.
void guard_thread();
/// The thread reports where it is, and ends the process.
void stop_for_timeout(pthread_t thread);

}  // namespace fake_cuda::device
