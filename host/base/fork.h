// Support for fork(). A child has its parent's memory but not the parent's other threads, so a lock that one of them
// held is never released. A child therefore starts with new process-wide tables and leaves the parent's alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

namespace tenon {

/// 0 in the process that loaded the library, 1 in a child forked from it, 2 in a child of that child.
uint32_t fork_count() noexcept;

/// Locks `mutex` while the process forks, so that it is free in the child. `mutex` must live as long as the library,
/// and threads may hold it only briefly and must not take another mutex meanwhile. At most 8 mutexes; more are ignored.
void hold_while_forking(std::mutex& mutex) noexcept;

/// Calls `fn` when the process ends by exit() or by returning from main. Functions registered later are called first.
void at_end_of_process(void (*fn)()) noexcept;

/// One T per process: a child of fork gets a new one and does not touch the parent's. Never destroyed, because threads
/// of the application may use it while statics are destroyed. Only for variables with static storage duration.
template <class T>
class PerProcess {
 public:
  constexpr PerProcess() = default;

  template <class... Arguments>
  T& get(Arguments&&... arguments) {
    Made* now = made_.load(std::memory_order_acquire);
    if (now != nullptr && now->fork == fork_count()) [[likely]]
      return now->object;
    auto* mine = new Made(fork_count(), now, std::forward<Arguments>(arguments)...);
    if (made_.compare_exchange_strong(now, mine, std::memory_order_acq_rel)) return mine->object;
    delete mine;  // another thread was faster
    return now->object;
  }
  /// This process's object, or null when get() has not made it yet.
  T* peek() {
    Made* now = made_.load(std::memory_order_acquire);
    return now != nullptr && now->fork == fork_count() ? &now->object : nullptr;
  }

 private:
  struct Made {
    template <class... Arguments>
    Made(uint32_t count, Made* parents, Arguments&&... arguments)
        : fork(count), before(parents), object(std::forward<Arguments>(arguments)...) {}
    uint32_t fork;
    Made* before;  // the parent's; kept reachable so that leak checkers do not report it
    T object;
  };
  std::atomic<Made*> made_{nullptr};
};

}  // namespace tenon
