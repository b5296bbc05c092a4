#include "faults.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <csignal>
#include <cstdlib>

#include "blocks.h"
#include "channel.h"
#include "once.h"

namespace fake_cuda::device {
namespace {

constexpr size_t kStackBytes = 64 << 10;

const char* verb_of(const void* context) {
#if defined(__x86_64__)
  constexpr greg_t kWrites = 2;
  const auto* registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  return (registers[REG_ERR] & kWrites) != 0 ? "writes to" : "reads from";
#else
  static_cast<void>(context);
  return "accesses";
#endif
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (signal == SIGFPE) fail(CUDA_ERROR_LAUNCH_FAILED, "%s divides an integer by zero", current_text());
  if (signal == SIGILL || signal == SIGABRT)
    fail(CUDA_ERROR_LAUNCH_FAILED, "%s has run into what the compiler takes for unreachable", current_text());
  const void* at = info->si_addr;
  if (g_blocks != nullptr && g_blocks->is_stack_guard(at))
    fail(CUDA_ERROR_LAUNCH_FAILED, "%s: the stack of the thread is full", current_text());
  const bool is_shared = g_blocks != nullptr && g_blocks->is_shared_guard(at);
  fail(CUDA_ERROR_ILLEGAL_ADDRESS, "%s %s %p: %s", current_text(), verb_of(context), at,
       is_shared ? "behind the dynamic shared memory" : world().describe(reinterpret_cast<uint64_t>(at)));
}

void on_timeout(int) {
  fail(CUDA_ERROR_LAUNCH_TIMEOUT, "%s takes longer than TENON_FAKE_CUDA_TIMEOUT allows", current_text());
}

}  // namespace

void install_handlers() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
  struct sigaction timeout {};
  timeout.sa_handler = on_timeout;
  timeout.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &timeout, nullptr);
}

void guard_thread() {
  void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kStackBytes;
  sigaltstack(&stack, nullptr);
}

void stop_for_timeout(pthread_t thread) { pthread_kill(thread, SIGUSR1); }

}  // namespace fake_cuda::device
