// One thread pool per process, shared by all sessions and lent to providers.
//
// parallel_for takes the workers that are free at that moment and works itself. When no piece is left, it takes
// back the workers that have not begun. So it never waits for a thread without a piece, and any number of Runs
// make progress at once. Workers start when they are first needed. After work they spin briefly while a Run that
// used them is active, and sleep otherwise. A Run that never calls parallel_for does not touch the pool.
//
// The pool has no tasks, futures or priorities. A piece that throws ends the process; providers must not throw.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "tenon/ep.h"

namespace tenon::runtime {

class ThreadPool;

/// Cores that this process may use: its affinity mask, limited by its control group's CPU quota, rounded up. At
/// least 1.
uint32_t usable_cores();

/// A set of workers, by bit.
class WorkerSet {
 public:
  static constexpr uint32_t kWords = 4, kCapacity = 64 * kWords;
  std::array<uint64_t, kWords> words{};
  bool empty() const;
  uint32_t size() const;
};

/// The part of the pool that one Run uses. Belongs to the Run's thread.
class RunThreads {
 public:
  RunThreads() = default;
  /// `pool` may be null; then everything runs on the calling thread. `limit`: most threads for this Run, the
  /// caller included.
  RunThreads(ThreadPool* pool, uint32_t limit) : pool_(pool), limit_(limit == 0 ? 1 : limit) {}
  ~RunThreads() { finish(); }
  RunThreads(const RunThreads&) = delete;
  RunThreads& operator=(const RunThreads&) = delete;
  /// `deterministic`: work is divided for a fixed number of threads, whatever the limit is.
  void set(ThreadPool* pool, uint32_t limit, bool deterministic = false) {
    finish();
    pool_ = pool;
    limit_ = limit == 0 ? 1 : limit;
    deterministic_ = deterministic;
  }

  /// Ends a Run: its workers go back, and the pool may rest. Costs one comparison when the Run never used the pool.
  void finish() {
    if (entered_.load(std::memory_order_relaxed)) leave();
  }
  uint32_t limit() const { return limit_; }

 private:
  friend class ThreadPool;
  void leave();

  ThreadPool* pool_ = nullptr;
  uint32_t limit_ = 1;
  bool deterministic_ = false;
  std::atomic<bool> entered_{false};
  std::mutex mutex_;  // guards `owned_`
  WorkerSet owned_;
};

class ThreadPool {
 public:
  /// `threads`: most threads that work at once, the caller included. Starts none.
  explicit ThreadPool(uint32_t threads);
  /// Ends the workers. The pool must not be in use.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// The process's pool; it lives as long as the library. `threads` (0: usable_cores()) can raise its size but not
  /// lower it: each Run has its own limit.
  static ThreadPool& process(uint32_t threads = 0);

  /// Calls fn over [0, n) in pieces of at least `grain` elements (one piece if n is smaller), on this thread and on
  /// free workers, and returns when all are done. The pieces depend only on n, grain and the Run's limit; in a
  /// deterministic Run not even on the limit. A call from inside a piece runs inline with that piece's worker
  /// number. Without a `run` the limit is the pool's size.
  static void parallel_for(RunThreads* run, int64_t n, int64_t grain, tenon_range_fn fn, void* context);
  /// Work of a deterministic Run is divided for this many threads; no more take part.
  static constexpr uint32_t kDeterministicWorkers = 16;
  /// fn gets worker numbers below this.
  static uint32_t worker_count(const RunThreads* run);
  /// Takes up to k workers for the caller until own_threads_done or the Run's end. Returns how many threads the caller
  /// may use, itself included. A second call adds to the first; one own_threads_done gives all of them back.
  static uint32_t own_threads(RunThreads* run, uint32_t k);
  static void own_threads_done(RunThreads* run);

  uint32_t size() const { return size_.load(std::memory_order_relaxed); }
  /// Workers that were started; 0 before the first parallel_for.
  uint32_t started() const { return started_.load(std::memory_order_relaxed); }
  /// Ends and joins the workers. Afterwards everything runs on the calling thread. Used at the end of the process.
  void stop();

 private:
  friend class RunThreads;
  struct Job;
  struct Worker;

  void enter(RunThreads* run);
  void start_workers();
  void run_job(int64_t n, int64_t pieces, uint32_t helpers, tenon_range_fn fn, void* context);
  WorkerSet claim(uint32_t most);
  void give_back(const WorkerSet& workers);
  void work(Worker& worker);
  bool wait_for_job(Worker& worker);

  std::atomic<uint32_t> size_{1};
  std::atomic<uint32_t> started_{0};
  std::atomic<uint32_t> active_runs_{0};
  std::atomic<bool> stopping_{false};
  std::array<std::atomic<uint64_t>, WorkerSet::kWords> free_{};
  std::array<std::unique_ptr<Worker>, WorkerSet::kCapacity> workers_;
  std::mutex mutex_;  // guards starting and stopping
  int64_t process_id_ = 0;
};

}  // namespace tenon::runtime
