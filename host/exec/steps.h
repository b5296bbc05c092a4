// The functions that a frame's steps call, beside the providers' own. All have the form of a provider's run
// slot.
#pragma once

#include "host/exec/frame.h"

namespace tenon::runtime {

/// A provider's run with a binding, a lock, or both.
tenon_status run_bound(const tenon_run_args* args, tenon_error* error);
/// A provider's run whose descriptors come from the slots, prepared now if need be.
tenon_status run_dynamic(const tenon_run_args* args, tenon_error* error);
tenon_status run_copy(const tenon_run_args* args, tenon_error* error);
tenon_status run_signal(const tenon_run_args* args, tenon_error* error);
tenon_status run_wait(const tenon_run_args* args, tenon_error* error);

}  // namespace tenon::runtime
