// Counts allocations and locks of one library. This program replaces allocation and mutex functions of the C
// library, so that it can tell calls by the provider's own code from calls by its driver.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::cts {

struct Watched {
  int64_t allocations = 0, locks = 0;
};

/// False in builds whose sanitizer replaces these functions, and without glibc.
bool can_watch();
/// Counts calls from the library of this path, on any thread, until stop_watching().
void watch(const std::string& module_path);
Watched stop_watching();

}  // namespace tenon::cts
