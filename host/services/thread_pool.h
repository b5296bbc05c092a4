// One thread pool for the process, shared by all sessions and lent to providers.
//
// A call of parallel_for takes the workers that are free at that moment, works itself, and takes back those
// that have not begun when nothing is left to do: it never waits for a thread that has no piece of it, so any
// number of Runs at once make progress. Workers are started when somebody first asks for them. They spin for
// a short time after work, while a Run that has used them is active, and sleep otherwise; a Run that never
// calls parallel_for does not touch the pool.
//
// What it does not do: no tasks, futures or priorities; a piece that throws ends the process (providers must
// not).
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

/// Cores this process may use: its affinity mask, and the CPU quota of its control group, rounded up; at
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

/// What one Run holds of the pool. Belongs to the Run's thread.
class RunThreads {
 public:
  RunThreads() = default;
  /// `pool` may be null: everything runs on the calling thread. `limit`: threads this Run may use, the caller
  /// included.
  RunThreads(ThreadPool* pool, uint32_t limit) : pool_(pool), limit_(limit == 0 ? 1 : limit) {}
  ~RunThreads() { finish(); }
  RunThreads(const RunThreads&) = delete;
  RunThreads& operator=(const RunThreads&) = delete;
  /// `deterministic`: work is divided as if there were a fixed number of threads, whatever the limit is.
  void set(ThreadPool* pool, uint32_t limit, bool deterministic = false) {
    finish();
    pool_ = pool;
    limit_ = limit == 0 ? 1 : limit;
    deterministic_ = deterministic;
  }

  /// At the end of a Run: the pool may rest, workers that were taken out go back. One comparison when the Run
  /// never used the pool.
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
  std::mutex mutex_;  // of `owned_`
  WorkerSet owned_;
};

class ThreadPool {
 public:
  /// `threads`: the most that work at once, the caller included. Starts none.
  explicit ThreadPool(uint32_t threads);
  /// Ends the workers. Nobody may be using the pool.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// The process's pool. `threads` (0: usable_cores()) raises its size when it is larger; it never shrinks, a
  /// smaller number is a limit of the Runs that ask for it. It lives as long as the library.
  static ThreadPool& process(uint32_t threads = 0);

  /// Calls fn over [0, n) in pieces of at least `grain` (but one for the last), on this thread and on free
  /// workers, and returns when all are done. The pieces depend on n, grain and the limit alone, never on who
  /// is free; those of a deterministic Run not even on the limit. A call from inside a piece runs inline with
  /// that piece's worker number. `run` null: a limit of the pool's size.
  static void parallel_for(RunThreads* run, int64_t n, int64_t grain, tenon_range_fn fn, void* context);
  /// The threads that a deterministic Run is divided for; more do not take part in it.
  static constexpr uint32_t kDeterministicWorkers = 16;
  /// Worker numbers that fn may see are below it.
  static uint32_t worker_count(const RunThreads* run);
  /// Takes up to k workers out, until own_threads_done or the Run's end. Returns the threads the caller may
  /// use, itself included. Calls do not nest: a second one adds to the first.
  static uint32_t own_threads(RunThreads* run, uint32_t k);
  static void own_threads_done(RunThreads* run);

  uint32_t size() const { return size_.load(std::memory_order_relaxed); }
  /// Workers started so far; 0 before the first parallel_for.
  uint32_t started() const { return started_.load(std::memory_order_relaxed); }
  /// Ends and joins the workers; afterwards everything runs on the calling thread. For the end of the
  /// process.
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
  std::mutex mutex_;  // of starting and stopping
  int64_t process_id_ = 0;
};

}  // namespace tenon::runtime
