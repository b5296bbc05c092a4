#include "host/services/thread_pool.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <exception>
#include <thread>

#include "host/base/fork.h"
#include "host/services/cores.h"
#include "host/services/float_mode.h"

namespace tenon::runtime {
namespace {

/// More pieces than threads, so that one slow thread does not delay the others.
constexpr int64_t kPiecesPerThread = 4;
/// How long a worker spins for the next job before it sleeps, and a caller for the end of the last pieces. About
/// the time to wake a thread: spinning longer gains little and takes cores from others.
constexpr auto kSpinTime = std::chrono::microseconds(40);
constexpr int kSpinsPerLook = 32;

enum : uint32_t { kIdle, kPosted, kWorking, kEnding };

/// The piece that this thread works on.
struct Inside {
  bool active = false;
  uint32_t worker = 0;
};
thread_local Inside t_inside;

/// For calls without a Run (compile): the threads that this thread took with own_threads.
thread_local RunThreads t_no_run;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// Spins until `done`, at most for kSpinTime.
template <class Done>
bool spin_until(const Done& done) {
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < kSpinsPerLook; ++i) {
      if (done()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

}  // namespace

uint32_t usable_cores() {
  static const uint32_t cores = count_usable_cores();  // once: counting reads files
  return cores;
}

bool WorkerSet::empty() const {
  return std::all_of(words.begin(), words.end(), [](uint64_t w) { return w == 0; });
}

uint32_t WorkerSet::size() const {
  uint32_t out = 0;
  for (const uint64_t w : words) out += static_cast<uint32_t>(std::popcount(w));
  return out;
}

/// One parallel_for. Lives on the caller's stack. A worker touches it only between kWorking and kIdle.
struct ThreadPool::Job {
  tenon_range_fn fn;
  void* context;
  int64_t n, pieces;
  std::atomic<int64_t> next{0};

  void work(uint32_t worker) {
    const Inside before = t_inside;
    t_inside = {true, worker};
    for (int64_t piece; (piece = next.fetch_add(1, std::memory_order_relaxed)) < pieces;) {
      fn(context, worker, begin_of(piece), begin_of(piece + 1));
    }
    t_inside = before;
  }
  /// The first element of a piece. Pieces differ by at most one element.
  int64_t begin_of(int64_t piece) const { return n / pieces * piece + std::min(piece, n % pieces); }
};

struct alignas(64) ThreadPool::Worker {
  std::atomic<uint32_t> state{kIdle};
  Job* job = nullptr;   // set before kPosted
  uint32_t number = 0;  // worker number in this job
  std::thread thread;
};

void RunThreads::leave() {
  ThreadPool::own_threads_done(this);
  entered_.store(false, std::memory_order_relaxed);
  pool_->active_runs_.fetch_sub(1, std::memory_order_relaxed);
}

ThreadPool::ThreadPool(uint32_t threads) : size_(std::clamp(threads, 1u, WorkerSet::kCapacity)) {}
ThreadPool::~ThreadPool() { stop(); }

ThreadPool& ThreadPool::process(uint32_t threads) {
  // The workers end when the library is unmapped, because their code goes too. A child of fork gets its own pool.
  static constinit PerProcess<ThreadPool> pools;
  struct EndOfLibrary {
    ~EndOfLibrary() {
      if (ThreadPool* pool = pools.peek()) pool->stop();
    }
  };
  static EndOfLibrary end;
  ThreadPool* const pool = &pools.get(1u);
  const uint32_t wanted = std::min(threads == 0 ? usable_cores() : threads, WorkerSet::kCapacity);
  uint32_t size = pool->size_.load(std::memory_order_relaxed);
  while (size < wanted && !pool->size_.compare_exchange_weak(size, wanted)) {
  }
  return *pool;
}

void ThreadPool::stop() {
  const std::lock_guard lock(mutex_);
  stopping_.store(true);
  for (auto& word : free_) word.store(0);
  const uint32_t started = started_.exchange(0);
  for (uint32_t i = 0; i < started; ++i) {
    Worker& worker = *workers_[i];
    if (process_id_ != current_process_id()) {
      // After a fork the thread is not in this process, and its handle may not be used.
      worker.state.store(kEnding);
      static_cast<void>(workers_[i].release());
      continue;
    }
    for (uint32_t idle = kIdle; !worker.state.compare_exchange_weak(idle, kEnding); idle = kIdle) {
      std::this_thread::yield();
    }
    worker.state.notify_all();
    worker.thread.join();
  }
}

void ThreadPool::start_workers() {
  const std::lock_guard lock(mutex_);
  const uint32_t wanted = size() - 1;
  if (stopping_.load()) return;
  process_id_ = current_process_id();
  for (uint32_t i = started_.load(); i < wanted; ++i) {
    std::unique_ptr<Worker> worker;
    try {
      worker = std::make_unique<Worker>();
      worker->thread = std::thread([this, w = worker.get()] { work(*w); });
    } catch (const std::exception&) {
      size_.store(i + 1);  // the system gives no more threads; use those that started
      return;
    }
    workers_[i] = std::move(worker);
    started_.store(i + 1);
    free_[i / 64].fetch_or(uint64_t{1} << (i % 64), std::memory_order_release);
  }
}

void ThreadPool::enter(RunThreads* run) {
  if (!run->entered_.load(std::memory_order_relaxed) && !run->entered_.exchange(true)) {
    active_runs_.fetch_add(1, std::memory_order_relaxed);
  }
  if (started_.load(std::memory_order_relaxed) + 1 < size()) start_workers();
}

WorkerSet ThreadPool::claim(uint32_t most) {
  WorkerSet out;
  for (uint32_t i = 0; i < WorkerSet::kWords && most != 0; ++i) {
    uint64_t seen = free_[i].load(std::memory_order_relaxed);
    while (seen != 0) {
      uint64_t take = 0, left = seen;
      for (uint32_t k = 0; k < most && left != 0; ++k) {
        take |= left & (~left + 1);
        left &= left - 1;
      }
      if (!free_[i].compare_exchange_weak(seen, left, std::memory_order_acquire)) continue;
      out.words[i] = take;
      most -= static_cast<uint32_t>(std::popcount(take));
      break;
    }
  }
  return out;
}

void ThreadPool::give_back(const WorkerSet& workers) {
  if (stopping_.load(std::memory_order_relaxed)) return;
  for (uint32_t i = 0; i < WorkerSet::kWords; ++i) {
    if (workers.words[i] != 0) free_[i].fetch_or(workers.words[i], std::memory_order_release);
  }
}

bool ThreadPool::wait_for_job(Worker& worker) {
  const auto posted = [&] { return worker.state.load(std::memory_order_acquire) != kIdle; };
  // With more Runs than threads, a spinning worker would take time from working threads.
  const uint32_t active = active_runs_.load(std::memory_order_relaxed);
  if (active == 0 || active >= size() || !spin_until(posted))
    worker.state.wait(kIdle, std::memory_order_acquire);
  return worker.state.load(std::memory_order_acquire) != kEnding;
}

void ThreadPool::work(Worker& worker) {
  name_this_thread("tenon-worker");
  while (wait_for_job(worker)) {
    uint32_t posted = kPosted;
    if (!worker.state.compare_exchange_strong(posted, kWorking, std::memory_order_acquire)) continue;
    {
      const FloatMode mode;  // same mode as the caller's thread; undoes changes by the work
      worker.job->work(worker.number);
    }
    worker.state.store(kIdle, std::memory_order_release);
    worker.state.notify_all();
  }
}

void ThreadPool::run_job(int64_t n, int64_t pieces, uint32_t helpers, tenon_range_fn fn, void* context) {
  Job job{fn, context, n, pieces};
  const WorkerSet claimed = claim(helpers);
  const auto each = [&](auto&& visit) {
    for (uint32_t i = 0; i < WorkerSet::kWords; ++i) {
      for (uint64_t bits = claimed.words[i]; bits != 0; bits &= bits - 1) {
        visit(*workers_[i * 64 + static_cast<uint32_t>(std::countr_zero(bits))]);
      }
    }
  };
  uint32_t number = 0;
  each([&](Worker& worker) {
    worker.job = &job;
    worker.number = ++number;
    uint32_t idle = kIdle;  // fails when the pool is being stopped
    if (worker.state.compare_exchange_strong(idle, kPosted, std::memory_order_release))
      worker.state.notify_all();
  });
  job.work(0);
  each([&](Worker& worker) {
    uint32_t posted = kPosted;  // not begun: take it back instead of waiting for the worker
    if (worker.state.compare_exchange_strong(posted, kIdle, std::memory_order_acquire)) return;
    const auto done = [&] { return worker.state.load(std::memory_order_acquire) != kWorking; };
    while (!spin_until(done)) worker.state.wait(kWorking, std::memory_order_acquire);
  });
  give_back(claimed);
}

void ThreadPool::parallel_for(RunThreads* run, int64_t n, int64_t grain, tenon_range_fn fn, void* context) {
  if (n <= 0) return;
  if (t_inside.active) return fn(context, t_inside.worker, 0, n);
  const uint32_t limit = worker_count(run);
  const int64_t pieces = std::min(n / std::max<int64_t>(grain, 1), limit == 1 ? 1 : limit * kPiecesPerThread);
  if (pieces <= 1) return fn(context, 0, 0, n);
  if (run == nullptr) {
    RunThreads once(&process(), limit);
    return parallel_for(&once, n, grain, fn, context);
  }
  ThreadPool& pool = *run->pool_;
  pool.enter(run);
  const uint32_t threads = std::min({limit, run->limit_, pool.size()});
  pool.run_job(n, pieces, static_cast<uint32_t>(std::min<int64_t>(pieces, threads)) - 1, fn, context);
}

uint32_t ThreadPool::worker_count(const RunThreads* run) {
  if (run == nullptr) return process().size();
  if (run->pool_ == nullptr) return 1;
  if (run->deterministic_) return kDeterministicWorkers;
  return std::min(run->limit_, run->pool_->size());
}

uint32_t ThreadPool::own_threads(RunThreads* run, uint32_t k) {
  if (run == nullptr) {
    run = &t_no_run;
    if (run->pool_ != &process()) run->set(&process(), process().size());
  }
  if (run->pool_ == nullptr || t_inside.active) return 1;
  ThreadPool& pool = *run->pool_;
  pool.enter(run);
  const std::lock_guard lock(run->mutex_);
  const uint32_t most = std::min(run->limit_, pool.size()) - 1;
  const uint32_t room = most - std::min(most, run->owned_.size());
  const WorkerSet claimed = pool.claim(std::min(k, room));
  for (uint32_t i = 0; i < WorkerSet::kWords; ++i) run->owned_.words[i] |= claimed.words[i];
  return 1 + run->owned_.size();
}

void ThreadPool::own_threads_done(RunThreads* run) {
  if (run == nullptr) return t_no_run.finish();
  if (run->pool_ == nullptr) return;
  const std::lock_guard lock(run->mutex_);
  run->pool_->give_back(run->owned_);
  run->owned_ = {};
}

}  // namespace tenon::runtime
