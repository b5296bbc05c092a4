// The functions of a frame's steps that are not a provider's own. All have the signature of a provider's run function.
#pragma once

#include "host/exec/frame.h"

namespace tenon::runtime {

/// Calls a provider's run with a binding, under a lock, or both.
tenon_status run_bound(const tenon_run_args* args, tenon_error* error);
/// Calls a provider's run with descriptors from the slots, after preparing the part if needed.
tenon_status run_dynamic(const tenon_run_args* args, tenon_error* error);
/// Between two places in memory of the host, without a stream, the host itself copies.
tenon_status run_copy(const tenon_run_args* args, tenon_error* error);
/// Takes the point, then submits the work before it.
tenon_status run_signal(const tenon_run_args* args, tenon_error* error);
tenon_status run_wait(const tenon_run_args* args, tenon_error* error);
tenon_status run_stream_wait(const tenon_run_args* args, tenon_error* error);
/// Plays an island back. Records it before, in its first Run.
tenon_status run_island(const tenon_run_args* args, tenon_error* error);

}  // namespace tenon::runtime
