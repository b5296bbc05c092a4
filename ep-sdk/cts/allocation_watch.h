// Who takes memory or a lock: allocation and mutex functions of this program stand before the C library's, so that a call from
// within the provider's own code can be told from its driver's.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::cts {

struct Watched {
  int64_t allocations = 0, locks = 0;
};

/// False in builds whose sanitizer replaces these functions itself.
bool can_watch();
/// Counts calls on any thread whose caller lies in the library of this path, until stop_watching().
void watch(const std::string& module_path);
Watched stop_watching();

}  // namespace tenon::cts
