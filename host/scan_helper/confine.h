// Restricts the scan process before it touches a library.
#pragma once

namespace tenon::scan {

/// Closes inherited descriptors above `last_descriptor`, limits processor time, file size and memory, forbids core
/// dumps, and asks the system to end this process with its parent, and first when memory runs out. Restrictions
/// that the system does not offer are skipped; the parent's time-out still applies.
void confine(int last_descriptor, unsigned cpu_seconds);

}  // namespace tenon::scan
