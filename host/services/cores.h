// What the operating system says about processor cores, memory, threads and processes. All that is special to one
// system stands in cores_<system>.cc.
#pragma once

#include <cstdint>

namespace tenon::runtime {

/// The affinity mask and the CPU quota of the control group, rounded up; at least 1.
uint32_t count_usable_cores();
/// Bytes of memory that this process may use: what the machine has, or less where its control group sets a limit.
uint64_t usable_memory();
/// For debuggers; at most 15 characters.
void name_this_thread(const char* name);
int64_t current_process_id();

}  // namespace tenon::runtime
