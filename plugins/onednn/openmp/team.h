// Threads for a library that was built for OpenMP, under the host's rule: no more threads work than the host gave to
// the Run, and none of them spins when the Run is over.
//
// The part of the OpenMP runtime that oneDNN calls (six functions) is defined in team.cc. It is a library of its own
// that the provider links before oneDNN, so that the loader finds these functions first. Where a process brought
// libgomp along itself, the loader takes that one, and threads.cc tells it how many threads it may use.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {

/// From now on regions of this thread run on `threads` threads, itself included, at most. Helpers are started when
/// there are too few. Returns how many there are.
uint32_t onednn_team_begin(uint32_t threads);
/// Gives the helpers back; they sleep at once.
void onednn_team_end(void);
/// Threads that regions which do not say a number use; also what primitives are made for. Regions run on one until
/// begin().
void onednn_team_set_size(uint32_t threads);

}  // extern "C"
#pragma GCC visibility pop
