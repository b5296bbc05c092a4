// Arithmetic on sizes from an untrusted model.
#pragma once

#include "kernels/common/shape.h"

#if defined(__unix__)
#include <unistd.h>
#endif

namespace tenon::cpu {

/// Throws an Error when the result does not fit 64 bits; `what` names it.
inline int64_t checked_add(int64_t a, int64_t b, const char* what) {
  int64_t out = 0;
  require(!__builtin_add_overflow(a, b, &out), TENON_INVALID_ARGUMENT, what, " is too large: ", a, " + ", b);
  return out;
}
inline int64_t checked_mul(int64_t a, int64_t b, const char* what) {
  int64_t out = 0;
  require(!__builtin_mul_overflow(a, b, &out), TENON_INVALID_ARGUMENT, what, " is too large: ", a, " x ", b);
  return out;
}

/// a / b rounded up, for b > 0.
inline int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

/// Call before building a table of `count` elements. Throws an Error beyond the instance's memory limit or
/// the machine's memory.
inline void require_tables(const PrepareContext& p, int64_t count, size_t element, const char* what) {
  uint64_t bytes = 0;
  const bool fits = !__builtin_mul_overflow(static_cast<uint64_t>(count), element, &bytes);
  require(fits, TENON_RESOURCE_EXHAUSTED, what, " need more memory than can be addressed");
  p.require_memory(bytes, what);
#if defined(__unix__)
  const auto machine =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  require(bytes <= machine, TENON_RESOURCE_EXHAUSTED, what, " need ", bytes, " bytes, and the machine has ",
          machine);
#endif
}

/// Steps of a long loop between two checks for cancellation.
inline constexpr int64_t kStepsPerLook = 1 << 20;

}  // namespace tenon::cpu
