#if !defined(_WIN32)

#include <pthread.h>

#include <array>
#include <cstdlib>

#include "host/base/fork.h"

namespace tenon {
namespace {

std::atomic<uint32_t> g_forks{0};
std::array<std::atomic<std::mutex*>, 8> g_held{};

// The mutexes that this thread locked. g_held may get another one before they are unlocked.
thread_local std::array<std::mutex*, std::tuple_size_v<decltype(g_held)>> t_locked{};

void lock_all() {
  for (size_t i = 0; i < g_held.size(); ++i) {
    t_locked[i] = g_held[i].load();
    if (t_locked[i] != nullptr) t_locked[i]->lock();
  }
}
void unlock_all() {
  for (std::mutex* mutex : t_locked) {
    if (mutex != nullptr) mutex->unlock();
  }
}
void begin_child() {
  unlock_all();
  g_forks.fetch_add(1);
}

// Registered when the library is loaded, so that no fork can come before it.
[[maybe_unused]] const int g_told = ::pthread_atfork(lock_all, unlock_all, begin_child);

}  // namespace

uint32_t fork_count() noexcept { return g_forks.load(std::memory_order_relaxed); }

void hold_while_forking(std::mutex& mutex) noexcept {
  for (auto& place : g_held) {
    std::mutex* none = nullptr;
    if (place.load() == &mutex || place.compare_exchange_strong(none, &mutex)) return;
  }
}

void at_end_of_process(void (*fn)()) noexcept {
#if defined(__GLIBC__)
  // Not atexit(), which calls __cxa_atexit; host/library/end_of_process.cc disables that.
  static_cast<void>(::on_exit([](int, void* given) { reinterpret_cast<void (*)()>(given)(); },
                              reinterpret_cast<void*>(fn)));
#else
  static_cast<void>(std::atexit(fn));
#endif
}

}  // namespace tenon

#endif
