#include "openmp/team.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#if defined(__unix__)
#include <pthread.h>
#endif

namespace {

constexpr uint32_t kMostHelpers = 255;
/// How long a thread spins before it sleeps. Longer than the gap between two regions of a run. Much longer
/// would keep the core from other threads when there are few cores.
constexpr auto kSpinTime = std::chrono::microseconds(100);
constexpr int kSpinsPerLook = 64;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// Spins until `done` returns true; false on timeout.
template <class Done>
bool spin_until(const Done& done) {
  for (int i = 0; i < kSpinsPerLook; ++i) {
    if (done()) return true;
    pause();
  }
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < kSpinsPerLook; ++i) {
      if (done()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

/// Waits until `word` is not `old`.
void wait_for_change(const std::atomic<uint32_t>& word, uint32_t old) {
  word.wait(old, std::memory_order_acquire);
}

/// One parallel region.
struct Region {
  void (*body)(void*);
  void* data;
  uint32_t threads;
  std::atomic<uint32_t>* left;          // helpers that have not finished
  std::atomic<uint32_t> at_barrier{0};  // threads that have arrived
  std::atomic<uint32_t> barriers{0};    // barriers that all threads have passed

  void barrier() {
    const uint32_t now = barriers.load(std::memory_order_relaxed);
    if (at_barrier.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
      at_barrier.store(0, std::memory_order_relaxed);
      barriers.store(now + 1);
      barriers.notify_all();
      return;
    }
    const auto passed = [&] { return barriers.load(std::memory_order_acquire) != now; };
    while (!spin_until(passed)) wait_for_change(barriers, now);
  }
};

struct alignas(64) Helper {
  std::atomic<uint32_t> posted{0};    // counts the regions given to this helper
  std::atomic<bool> is_taken{false};  // a run uses it, so it spins
  Region* region = nullptr;
  uint32_t number = 0;  // thread number in the team
  std::thread thread;
};

struct Me {
  uint32_t size = 1;  // of the next region
  std::array<Helper*, kMostHelpers> helpers;
  uint32_t helper_count = 0;
  Region* region = nullptr;  // the region that this thread is in
  uint32_t number = 0;
  bool in_parallel = false;
  std::atomic<uint32_t> left{0};  // helpers still at work in the region that this thread leads
};
thread_local Me t_me;

/// All helpers of the process. Unused ones sleep.
class Helpers {
 public:
  /// Never destroyed, since threads may still run a session during static destruction.
  static Helpers& get() {
    static Helpers* helpers = [] {
      auto* out = new Helpers;
#if defined(__unix__)
      pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); }, [] { get().begin_again(); });
#endif
      return out;
    }();
    return *helpers;
  }

  uint32_t take(uint32_t wanted, Helper** out) {
    const std::lock_guard lock(mutex_);
    while (free_count_ < wanted && count_ < kMostHelpers && start_one()) {
    }
    const uint32_t taken = std::min(wanted, free_count_);
    for (uint32_t i = 0; i < taken; ++i) {
      out[i] = free_[--free_count_];
      out[i]->is_taken.store(true, std::memory_order_relaxed);
    }
    return taken;
  }

  void give_back(Helper* const* helpers, uint32_t count) {
    const std::lock_guard lock(mutex_);
    for (uint32_t i = 0; i < count; ++i) {
      helpers[i]->is_taken.store(false, std::memory_order_relaxed);
      free_[free_count_++] = helpers[i];
    }
  }

 private:
  /// In the child of a fork only the calling thread exists, so helpers are started anew on demand. The
  /// parent's std::thread objects are kept: joining or destroying them here would be wrong.
  void begin_again() {
    free_count_ = count_ = 0;
    t_me.helper_count = 0;
    t_me.size = 1;
    mutex_.unlock();
  }

  bool start_one() {
    std::unique_ptr<Helper> helper;
    try {
      helper = std::make_unique<Helper>();
      helper->thread = std::thread([h = helper.get()] { work(*h); });
    } catch (const std::exception&) {
      return false;  // no more threads or memory; oneDNN calls this and does not handle exceptions
    }
    free_[free_count_++] = helper.release();
    ++count_;
    return true;
  }

  [[noreturn]] static void work(Helper& helper) {
#if defined(__linux__)
    pthread_setname_np(pthread_self(), "tenon-onednn");
#endif
    for (uint32_t seen = 0;; ++seen) {
      const auto is_over = [&] {
        return helper.posted.load(std::memory_order_acquire) != seen ||
               !helper.is_taken.load(std::memory_order_relaxed);
      };
      spin_until(is_over);
      while (helper.posted.load(std::memory_order_acquire) == seen) wait_for_change(helper.posted, seen);
      Region& region = *helper.region;
      t_me.region = &region;
      t_me.number = helper.number;
      t_me.in_parallel = true;
      region.body(region.data);
      t_me.in_parallel = false;
      std::atomic<uint32_t>& left = *region.left;  // it outlives the region
      if (left.fetch_sub(1) == 1) left.notify_one();
    }
  }

  std::mutex mutex_;
  std::array<Helper*, kMostHelpers> free_{};
  uint32_t free_count_ = 0, count_ = 0;
};

void run_alone(void (*body)(void*), void* data) {
  Region region{body, data, 1, nullptr};
  Region* const before = std::exchange(t_me.region, &region);
  const uint32_t number = std::exchange(t_me.number, 0);
  body(data);
  t_me.region = before;
  t_me.number = number;
}

void run_together(void (*body)(void*), void* data, uint32_t threads) {
  Region region{body, data, threads, &t_me.left};
  t_me.left.store(threads - 1, std::memory_order_relaxed);
  for (uint32_t i = 0; i + 1 < threads; ++i) {
    Helper& helper = *t_me.helpers[i];
    helper.region = &region;
    helper.number = i + 1;
    helper.posted.fetch_add(1);
    helper.posted.notify_one();
  }
  t_me.region = &region;
  t_me.number = 0;
  t_me.in_parallel = true;
  body(data);
  t_me.in_parallel = false;
  t_me.region = nullptr;
  const std::atomic<uint32_t>& left = t_me.left;
  if (spin_until([&] { return left.load(std::memory_order_acquire) == 0; })) return;
  for (uint32_t n; (n = left.load(std::memory_order_acquire)) != 0;) wait_for_change(left, n);
}

}  // namespace

uint32_t onednn_team_begin(uint32_t threads) {
  onednn_team_end();
  const uint32_t wanted = std::min(threads == 0 ? 0 : threads - 1, kMostHelpers);
  if (wanted != 0) t_me.helper_count = Helpers::get().take(wanted, t_me.helpers.data());
  t_me.size = 1 + t_me.helper_count;
  return t_me.size;
}

void onednn_team_end() {
  if (t_me.helper_count != 0) Helpers::get().give_back(t_me.helpers.data(), t_me.helper_count);
  t_me.helper_count = 0;
}

void onednn_team_set_size(uint32_t threads) { t_me.size = std::max(threads, 1u); }

// The functions of the OpenMP runtime that oneDNN calls.
#pragma GCC visibility push(default)
extern "C" {

void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned /*flags*/) {
  const uint32_t wanted = threads == 0 ? t_me.size : threads;
  const uint32_t together = t_me.in_parallel ? 1 : std::min(wanted, 1 + t_me.helper_count);
  together == 1 ? run_alone(body, data) : run_together(body, data, together);
}

void GOMP_barrier() {
  if (t_me.region != nullptr && t_me.region->threads > 1) t_me.region->barrier();
}

int omp_get_max_threads() { return static_cast<int>(t_me.size); }
int omp_get_num_threads() { return t_me.region == nullptr ? 1 : static_cast<int>(t_me.region->threads); }
int omp_get_thread_num() { return t_me.region == nullptr ? 0 : static_cast<int>(t_me.number); }
int omp_in_parallel() { return t_me.in_parallel ? 1 : 0; }

}  // extern "C"
#pragma GCC visibility pop
