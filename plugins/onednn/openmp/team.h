// OpenMP threads for oneDNN under the host's rule: at most as many threads work as the host granted to the
// Run, and none of them spins after the Run.
//
// team.cc defines the six functions of the OpenMP runtime that oneDNN calls. They are in a library of their
// own that the provider links before oneDNN, so that the loader finds them first. If the process has loaded
// libgomp itself, the loader prefers that one, and threads.cc sets its number of threads.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {

/// From now on, parallel regions of this thread use up to `threads` threads, including itself. Starts helpers
/// if there are too few. Returns the number of threads.
uint32_t onednn_team_begin(uint32_t threads);
/// Releases the helpers, which go to sleep at once.
void onednn_team_end(void);
/// Sets the default number of threads: for regions that do not give one, and for primitives made from now on.
/// Until onednn_team_begin(), regions run on one thread.
void onednn_team_set_size(uint32_t threads);

}  // extern "C"
#pragma GCC visibility pop
