// The processor's time of this process, for tests that a step takes as long as it should. Unlike the clock on the wall, it does not
// count what else the machine does.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace tenon::test {

inline double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// `seconds(n)`: the processor's time that n elements take. Eight times as many must take about eight times as long, and not the
/// square of it. A ratio holds in every build and on every machine; a number of seconds does not under a sanitizer.
template <class Seconds>
void expect_nearly_linear(uint32_t n, const Seconds& seconds) {
  const double part = std::min({seconds(n / 8), seconds(n / 8), seconds(n / 8)});
  EXPECT_LT(seconds(n), 24 * part + 0.1);  // the sum covers a clock of coarse steps
}

}  // namespace tenon::test
