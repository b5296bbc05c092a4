// The peak memory use of this process.
#pragma once

namespace tenon::cli {

/// Resets the peak to the current use. False where the system does not support it.
bool reset_peak();
/// The most bytes of resident memory since reset_peak() or the start; 0 where it is not known. It covers this process
/// only. (getrusage would include the peak of the parent process.)
double peak_bytes();

}  // namespace tenon::cli
