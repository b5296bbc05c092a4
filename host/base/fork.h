// fork(): a child has the memory of its parent, but none of its other threads, and whatever those held locked stays locked for
// ever. So a child begins with process-wide tables of its own, and what the parent made is left alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

namespace tenon {

/// 0 in the process that loaded the library, 1 in a child that was forked from it, and so on.
uint32_t fork_count() noexcept;

/// Keeps `mutex`, which nobody holds for long or while taking another, out of other threads' hands while the process forks,
/// so that a child finds it free. It must live as long as the library. At most a few: more are left out.
void hold_while_forking(std::mutex& mutex) noexcept;

/// Calls `fn` when the process ends by exit() or by returning from main, before what was registered or constructed earlier.
void at_end_of_process(void (*fn)()) noexcept;

/// One T for each process: a child of fork gets a new one, and the parent's stays as it is. Never destroyed, because threads
/// of the application may use it while statics are torn down. For variables with static storage duration only.
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
  /// The one of this process if there is one already.
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
    Made* before;  // the parent's: referred to, so that no leak is seen in it
    T object;
  };
  std::atomic<Made*> made_{nullptr};
};

}  // namespace tenon
