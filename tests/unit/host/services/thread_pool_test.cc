#include "host/services/thread_pool.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace tenon::runtime {
namespace {

/// Calls f(worker, begin, end) through the C signature.
template <class F>
void parallel_for(RunThreads* run, int64_t n, int64_t grain, F&& f) {
  ThreadPool::parallel_for(
      run, n, grain,
      [](void* context, uint32_t worker, int64_t begin, int64_t end) {
        (*static_cast<std::remove_reference_t<F>*>(context))(worker, begin, end);
      },
      &f);
}

TEST(ThreadPool, EveryIndexOnce) {
  ThreadPool pool(4);
  for (const int64_t n : {1, 2, 7, 64, 1000, 12345}) {
    for (const int64_t grain : {int64_t{1}, int64_t{3}, int64_t{100}, n, 2 * n}) {
      RunThreads run(&pool, 4);
      std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
      std::atomic<bool> too_small = false, bad_worker = false;
      parallel_for(&run, n, grain, [&](uint32_t worker, int64_t begin, int64_t end) {
        if (end - begin < std::min(grain, n)) too_small = true;
        if (worker >= 4) bad_worker = true;
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      for (const auto& s : seen) ASSERT_EQ(s.load(), 1);
      EXPECT_FALSE(too_small) << n << " " << grain;
      EXPECT_FALSE(bad_worker);
    }
  }
}

TEST(ThreadPool, WorkersStartWithTheFirstParallelFor) {
  ThreadPool pool(3);
  RunThreads run(&pool, 3);
  parallel_for(&run, 10, 100, [](uint32_t, int64_t, int64_t) {});
  run.finish();
  EXPECT_EQ(pool.started(), 0u);
  parallel_for(&run, 10, 1, [](uint32_t, int64_t, int64_t) {});
  EXPECT_EQ(pool.started(), 2u);
}

TEST(ThreadPool, WorkersTakePart) {
  ThreadPool pool(2);
  RunThreads run(&pool, 2);
  std::atomic<int> inside = 0;
  // Each piece waits for the other: only two threads at once get through.
  parallel_for(&run, 2, 1, [&](uint32_t, int64_t, int64_t) {
    ++inside;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (inside.load() < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  });
  EXPECT_EQ(inside.load(), 2);
}

TEST(ThreadPool, NestedCallsRunInline) {
  ThreadPool pool(4);
  RunThreads run(&pool, 4);
  std::atomic<int64_t> sum = 0;
  std::atomic<bool> moved = false;
  parallel_for(&run, 16, 1, [&](uint32_t outer, int64_t begin, int64_t end) {
    const auto thread = std::this_thread::get_id();
    parallel_for(&run, 100, 1, [&](uint32_t inner, int64_t b, int64_t e) {
      if (inner != outer || std::this_thread::get_id() != thread) moved = true;
      sum += (e - b) * (end - begin);
    });
  });
  EXPECT_EQ(sum.load(), 1600);
  EXPECT_FALSE(moved);
}

TEST(ThreadPool, ALimitOfOneStaysOnTheCaller) {
  ThreadPool pool(4);
  RunThreads run(&pool, 1);
  int calls = 0;
  parallel_for(&run, 1000, 1, [&](uint32_t worker, int64_t begin, int64_t end) {
    EXPECT_EQ(worker, 0u);
    EXPECT_EQ(end - begin, 1000);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(ThreadPool::worker_count(&run), 1u);
  EXPECT_EQ(pool.started(), 0u);
}

TEST(ThreadPool, ADeterministicRunIsDividedAlikeWhateverTheThreads) {
  using Pieces = std::vector<std::pair<int64_t, int64_t>>;
  const auto pieces_with = [](uint32_t threads, int64_t n, int64_t grain) {
    ThreadPool pool(threads);
    RunThreads run;
    run.set(&pool, threads, true);
    std::mutex mutex;
    Pieces pieces;
    parallel_for(&run, n, grain, [&](uint32_t worker, int64_t begin, int64_t end) {
      // A call from inside is not divided, also where there is one thread.
      parallel_for(&run, 100, 1,
                   [&](uint32_t, int64_t b, int64_t e) { EXPECT_EQ(e - b, n < 2 * grain ? e - b : 100); });
      const std::lock_guard lock(mutex);
      EXPECT_LT(worker, std::min(threads, ThreadPool::worker_count(&run)));
      pieces.emplace_back(begin, end);
    });
    std::sort(pieces.begin(), pieces.end());
    return std::pair(pieces, ThreadPool::worker_count(&run));
  };
  for (const auto& [n, grain] : {std::pair<int64_t, int64_t>{1000, 1}, {1000, 7}, {64, 64}, {5, 1}}) {
    const auto one = pieces_with(1, n, grain);
    EXPECT_EQ(one, pieces_with(2, n, grain)) << n << " " << grain;
    EXPECT_EQ(one, pieces_with(7, n, grain)) << n << " " << grain;
    EXPECT_EQ(one, pieces_with(40, n, grain)) << n << " " << grain;
  }
}

TEST(ThreadPool, ManyRunsAtOnceAllFinish) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        RunThreads run(&pool, 3);
        for (int k = 0; k < 3; ++k) {
          parallel_for(&run, 64, 1, [&](uint32_t, int64_t begin, int64_t end) { sum += end - begin; });
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(sum.load(), 16 * 300 * 3 * 64);
}

TEST(ThreadPool, OwnThreadsLeaveThePool) {
  ThreadPool pool(4);
  RunThreads run(&pool, 4), other(&pool, 4);
  EXPECT_EQ(ThreadPool::own_threads(&run, 2), 3u);
  EXPECT_EQ(ThreadPool::own_threads(&other, 8), 2u);
  EXPECT_EQ(ThreadPool::own_threads(&other, 8), 2u);
  std::atomic<uint32_t> highest = 0;
  parallel_for(&run, 1000, 1, [&](uint32_t worker, int64_t, int64_t) {
    uint32_t h = highest.load();
    while (worker > h && !highest.compare_exchange_weak(h, worker)) {
    }
  });
  EXPECT_EQ(highest.load(), 0u);
  ThreadPool::own_threads_done(&other);
  other.finish();
  run.finish();
  EXPECT_EQ(ThreadPool::own_threads(&other, 8), 4u);
}

TEST(ThreadPool, CallsWithoutARunUseTheProcessPool) {
  ThreadPool::process(2);
  std::atomic<int64_t> sum = 0;
  parallel_for(nullptr, 100, 1, [&](uint32_t worker, int64_t begin, int64_t end) {
    EXPECT_LT(worker, ThreadPool::worker_count(nullptr));
    sum += end - begin;
  });
  EXPECT_EQ(sum.load(), 100);
  EXPECT_GE(ThreadPool::own_threads(nullptr, 1), 1u);
  ThreadPool::own_threads_done(nullptr);
}

TEST(ThreadPool, AForkedChildWorksAndEnds) {
  ThreadPool pool(3);
  RunThreads run(&pool, 3);
  parallel_for(&run, 100, 1, [](uint32_t, int64_t, int64_t) {});
  run.finish();
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int64_t> sum = 0;
    {
      RunThreads again(&pool, 3);
      parallel_for(&again, 100, 1, [&](uint32_t, int64_t begin, int64_t end) { sum += end - begin; });
    }
    pool.stop();
    _exit(sum.load() == 100 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ThreadPool, AStoppedPoolRunsOnTheCaller) {
  ThreadPool pool(3);
  RunThreads run(&pool, 3);
  parallel_for(&run, 100, 1, [](uint32_t, int64_t, int64_t) {});
  pool.stop();
  int64_t sum = 0;
  parallel_for(&run, 100, 1, [&](uint32_t, int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 100);
}

TEST(UsableCores, AtLeastOneAndNotMoreThanThereAre) {
  EXPECT_GE(usable_cores(), 1u);
  EXPECT_LE(usable_cores(), std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace tenon::runtime
