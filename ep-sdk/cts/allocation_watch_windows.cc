// A library for Windows calls the allocator of its own C library, which the kit cannot replace.
#include "ep-sdk/cts/allocation_watch.h"

namespace tenon::cts {

bool can_watch() { return false; }

void watch(const std::string&) {}

Watched stop_watching() { return {}; }

}  // namespace tenon::cts
