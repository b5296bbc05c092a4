// What the operating system tells about cores, memory, threads and processes. cores_<system>.cc implements it.
#pragma once

#include <cstdint>

namespace tenon::runtime {

/// Cores of the affinity mask, limited by the control group's CPU quota, rounded up. At least 1.
uint32_t count_usable_cores();
/// Bytes of memory that this process may use: the machine's memory, or the limit of its control group if that is lower.
uint64_t usable_memory();
/// Names the thread for debuggers. At most 15 characters.
void name_this_thread(const char* name);
int64_t current_process_id();

}  // namespace tenon::runtime
