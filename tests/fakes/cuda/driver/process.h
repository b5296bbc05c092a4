// The processes of the devices: starting, talking to, ending.
#pragma once

#include "state.h"

namespace fake_cuda {

/// Makes the memory that all processes share. Throws a Refusal.
void make_shared_memory();
/// Starts the device's process, if it does not run.
void start_process(Device& device);
/// Ends it with all that it has.
void stop_process(Device& device);
/// The error that stays, if there is one. Reports it when it is new.
CUresult error_of(Device& device);
/// The same, and looks whether the process still runs.
CUresult check_alive(Device& device);
/// An error that stays without a cause: the device is lost.
void lose(Device& device, CUresult code, const std::string& why);

/// Has something done before any command that is submitted from now on.
void write_log(Device& device, LogEntry entry);

}  // namespace fake_cuda
