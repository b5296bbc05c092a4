// Sets the floating-point mode in which Tenon computes: round to nearest, keep denormals, trap nothing. The
// destructor restores the thread's own mode, even when a provider changed it.
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace tenon::runtime {

#if defined(__SSE2__)

class FloatMode {
 public:
  FloatMode() : sse_(_mm_getcsr()) {
    __asm__ volatile("fnstcw %0" : "=m"(x87_));
    if ((sse_ & ~kFlags) != kSse) _mm_setcsr(kSse);
    if (x87_ != kX87) load(kX87);
  }
  ~FloatMode() {
    // Also restores the application's status flags (inexact and so on).
    if (_mm_getcsr() != sse_) _mm_setcsr(sse_);
    uint16_t x87 = 0;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    if (x87 != x87_) load(x87_);
  }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  // The mode that the system gives to a new thread.
  static constexpr uint32_t kSse = 0x1F80, kFlags = 0x3F;
  static constexpr uint16_t kX87 = 0x037F;
  static void load(uint16_t word) { __asm__ volatile("fldcw %0" : : "m"(word)); }

  uint32_t sse_;
  uint16_t x87_ = 0;
};

#else

class FloatMode {
 public:
  FloatMode() {
    std::fegetenv(&outer_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatMode() { std::fesetenv(&outer_); }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  std::fenv_t outer_;
};

#endif

}  // namespace tenon::runtime
