// The most memory that this process had in use at once.
#pragma once

namespace tenon::cli {

/// Forgets the peak so far, so that peak_bytes() tells of what comes; false where the system cannot.
bool reset_peak();
/// Bytes that lay in memory at the highest, since reset_peak() or the start; 0 where the system does not tell. It is this
/// process's own: getrusage gives a child the peak of the process that started it.
double peak_bytes();

}  // namespace tenon::cli
