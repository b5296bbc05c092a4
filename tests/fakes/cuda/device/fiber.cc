#include "fiber.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>

namespace fake_cuda::device {
namespace {

constexpr size_t kGuardBytes = 4096;
constexpr size_t kStackBytes = 256 << 10;

}  // namespace

#if defined(__x86_64__)

extern "C" void fake_cuda_switch(void** from, void* to);
extern "C" void fake_cuda_begin();
asm(R"(
.text
.type fake_cuda_switch, @function
fake_cuda_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size fake_cuda_switch, .-fake_cuda_switch
.type fake_cuda_begin, @function
fake_cuda_begin:
  movq %r12, %rdi
  callq *%r13
  ud2
.size fake_cuda_begin, .-fake_cuda_begin
)");

void switch_context(Context& from, Context& to) { fake_cuda_switch(&from.stack_pointer, to.stack_pointer); }

#else

void switch_context(Context& from, Context& to) { swapcontext(&from.registers, &to.registers); }

namespace {

void begin(unsigned run_high, unsigned run_low, unsigned argument_high, unsigned argument_low) {
  const auto joined = [](unsigned high, unsigned low) { return static_cast<uint64_t>(high) << 32 | low; };
  reinterpret_cast<void (*)(void*)>(joined(run_high, run_low))(
      reinterpret_cast<void*>(joined(argument_high, argument_low)));
}

}  // namespace

#endif

Fiber::Fiber(void (*run)(void*), void* argument) {
  void* memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<unsigned char*>(memory);
  mprotect(memory_, kGuardBytes, PROT_NONE);
#if defined(__x86_64__)
  // What fake_cuda_switch pops: r15, r14, r13, r12, rbx, rbp, and where to go on.
  void* saved[] = {nullptr,
                   nullptr,
                   reinterpret_cast<void*>(run),
                   argument,
                   nullptr,
                   nullptr,
                   reinterpret_cast<void*>(&fake_cuda_begin)};
  // Stacks begin at different places of their pages, so that they do not all use the same lines of the cache.
  static std::atomic<unsigned> count{0};
  const size_t shift = count++ % 29 * 128;
  unsigned char* top =
      memory_ + kGuardBytes + kStackBytes - 64 - shift;  // aligned when fake_cuda_begin calls
  context.stack_pointer = top - sizeof(saved);
  std::memcpy(context.stack_pointer, saved, sizeof(saved));
#else
  getcontext(&context.registers);
  context.registers.uc_stack.ss_sp = memory_ + kGuardBytes;
  context.registers.uc_stack.ss_size = kStackBytes;
  context.registers.uc_link = nullptr;
  const auto run_at = reinterpret_cast<uint64_t>(run), at = reinterpret_cast<uint64_t>(argument);
  makecontext(&context.registers, reinterpret_cast<void (*)()>(&begin), 4,
              static_cast<unsigned>(run_at >> 32), static_cast<unsigned>(run_at),
              static_cast<unsigned>(at >> 32), static_cast<unsigned>(at));
#endif
}

Fiber::~Fiber() {
  if (memory_ != nullptr) munmap(memory_, kGuardBytes + kStackBytes);
}

bool Fiber::is_guard(const void* address) const {
  const auto* at = static_cast<const unsigned char*>(address);
  return at >= memory_ && at < memory_ + kGuardBytes;
}

}  // namespace fake_cuda::device
