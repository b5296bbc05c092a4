// What the scan process gives up before it touches a library.
#pragma once

namespace tenon::scan {

/// Closes inherited descriptors above `last_descriptor`, limits processor time, file size and memory, forbids
/// core dumps, and asks to be ended with the parent, and first when memory runs out. What the system does not
/// offer is left out: the parent's time-out is what counts.
void confine(int last_descriptor, unsigned cpu_seconds);

}  // namespace tenon::scan
