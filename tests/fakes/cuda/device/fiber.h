// Threads of a block that wait for each other: each has a stack of its own, and they hand the processor on by hand.
#pragma once

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace fake_cuda::device {

/// A place where the processor can go on: a stack and registers.
class Context {
 public:
#if defined(__x86_64__)
  void* stack_pointer = nullptr;
#else
  ucontext_t registers{};
#endif
};

/// Saves the caller in `from`, and goes on at `to`.
void switch_context(Context& from, Context& to);

/// A stack with a guard page below it. Begins in `run(argument)`, which never returns.
class Fiber {
 public:
  Fiber(void (*run)(void*), void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  Context context;
  /// Whether the address is in the guard page of this stack.
  bool is_guard(const void* address) const;

 private:
  unsigned char* memory_ = nullptr;
};

}  // namespace fake_cuda::device
