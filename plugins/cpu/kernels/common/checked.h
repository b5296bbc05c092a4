// Arithmetic on sizes that a model may choose at will.
#pragma once

#include "kernels/common/shape.h"

#if defined(__unix__)
#include <unistd.h>
#endif

namespace tenon::cpu {

/// An Error where 64 bits do not hold the result; `what` names it.
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

/// Before tables of `count` elements are made: within the limit that the instance was given, and within what the
/// machine has when it was given none.
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

/// How many steps of a long loop go by between two looks at the deadline.
inline constexpr int64_t kStepsPerLook = 1 << 20;

}  // namespace tenon::cpu
