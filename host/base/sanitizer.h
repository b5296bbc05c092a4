// Which sanitizer this code is compiled with.
#pragma once

#include <cstdint>

#include "tenon/ep.h"

namespace tenon {

#if defined(__has_feature)
#define TENON_HAS_FEATURE(feature) __has_feature(feature)
#else
#define TENON_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || TENON_HAS_FEATURE(address_sanitizer)
inline constexpr uint32_t kHostSanitizer = TENON_SANITIZER_ADDRESS;
#elif defined(__SANITIZE_THREAD__) || TENON_HAS_FEATURE(thread_sanitizer)
inline constexpr uint32_t kHostSanitizer = TENON_SANITIZER_THREAD;
#elif TENON_HAS_FEATURE(memory_sanitizer)
inline constexpr uint32_t kHostSanitizer = TENON_SANITIZER_MEMORY;
#else
inline constexpr uint32_t kHostSanitizer = TENON_SANITIZER_NONE;
#endif

#undef TENON_HAS_FEATURE

}  // namespace tenon
