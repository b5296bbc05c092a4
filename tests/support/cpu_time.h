// The processor's time of this process, for tests that a step takes as long as it should. Unlike the clock on the wall, it does not
// count what else the machine does.
#pragma once

#include <ctime>

namespace tenon::test {

inline double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace tenon::test
