// The queue of submitted Runs, with Runs that are functions.
#include "host/services/run_queue.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "host/base/log.h"

namespace tenon::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr int64_t kMillisecond = 1'000'000, kLong = 60'000 * kMillisecond;

/// A flag that a thread waits for.
class Gate {
 public:
  void open() { open_.store(true), open_.notify_all(); }
  void wait() const { open_.wait(false); }

 private:
  std::atomic<bool> open_{false};
};

class Work final : public QueuedRun {
 public:
  using Body = std::function<Status(const uint32_t* cancel, int64_t deadline_ns)>;
  explicit Work(Body body) : body_(std::move(body)) {}
  bool has_let_go() const { return has_let_go_; }

 private:
  Status run(const uint32_t* cancel, int64_t deadline_ns) override { return body_(cancel, deadline_ns); }
  void let_go() override { has_let_go_ = true; }
  Body body_;
  std::atomic<bool> has_let_go_{false};
};

std::shared_ptr<Work> work(Work::Body body, int64_t deadline_ns = 0,
                           std::shared_ptr<const uint32_t> cancel = nullptr) {
  auto made = std::make_shared<Work>(std::move(body));
  EXPECT_TRUE(made->set_stop(deadline_ns, std::move(cancel)).ok());
  return made;
}
std::shared_ptr<Work> until(const Gate& gate) {
  return work([&gate](const uint32_t*, int64_t) {
    gate.wait();
    return ok_status();
  });
}
std::shared_ptr<Work> until_cancelled() {
  return work([](const uint32_t* cancel, int64_t) {
    while (__atomic_load_n(cancel, __ATOMIC_RELAXED) == 0) std::this_thread::sleep_for(1ms);
    return Status(StatusCode::kCancelled, "seen by the work", ErrorKind::kCancelled);
  });
}
Status nothing(const uint32_t*, int64_t) { return ok_status(); }

bool is_over(QueuedRun& run, int64_t timeout_ns = kLong) {
  const Result<bool> over = run.wait(timeout_ns);
  EXPECT_TRUE(over.ok()) << over.status().to_string();
  return over.ok() && *over;
}

TEST(RunQueue, RunsBeginInTheirOrderAndEndOnce) {
  RunQueue queue(1);
  std::vector<int> begun, told;
  std::shared_ptr<Work> last;
  for (int i = 0; i < 100; ++i) {
    last = work([&begun, i](const uint32_t*, int64_t) {
      begun.push_back(i);
      return ok_status();
    });
    last->set_callback([&told, i](QueuedRun&) { told.push_back(i); });
    ASSERT_TRUE(queue.submit(last).ok());
  }
  ASSERT_TRUE(is_over(*last));
  std::vector<int> all(100);
  for (int i = 0; i < 100; ++i) all[i] = i;
  EXPECT_EQ(begun, all);
  EXPECT_EQ(told, all);
}

TEST(RunQueue, TwoRunsAreUnderWayAtOnce) {
  RunQueue queue(2);
  Gate first, second;
  const auto a = work([&](const uint32_t*, int64_t) {
    first.open();
    second.wait();
    return ok_status();
  });
  const auto b = work([&](const uint32_t*, int64_t) {
    second.open();
    first.wait();
    return ok_status();
  });
  ASSERT_TRUE(queue.submit(a).ok());
  ASSERT_TRUE(queue.submit(b).ok());
  EXPECT_TRUE(is_over(*a));
  EXPECT_TRUE(is_over(*b));
}

TEST(RunQueue, AWaitEndsAfterTheCallback) {
  RunQueue queue(1);
  std::atomic<bool> has_returned{false};
  const auto run = work(nothing);
  run->set_callback([&](QueuedRun& ended) {
    EXPECT_TRUE(ended.has_ended());
    EXPECT_TRUE(static_cast<Work&>(ended).has_let_go());
    EXPECT_FALSE(is_over(ended, 0)) << "its callback is under way";
    const Result<bool> waited = ended.wait(-1);
    EXPECT_EQ(waited.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(waited.status().to_string(), HasSubstr("a callback waits for a submitted Run"));
    std::this_thread::sleep_for(20ms);
    has_returned = true;
  });
  ASSERT_TRUE(queue.submit(run).ok());
  EXPECT_TRUE(is_over(*run, -1));
  EXPECT_TRUE(has_returned);
}

TEST(RunQueue, CancelEndsARunThatHasNotBegunAtOnce) {
  RunQueue queue(1);
  Gate gate;
  const auto blocker = until(gate);
  ASSERT_TRUE(queue.submit(blocker).ok());
  const auto silent = work(nothing), told = work(nothing);
  std::atomic<int> calls{0};
  std::thread::id caller;
  told->set_callback([&](QueuedRun&) {
    caller = std::this_thread::get_id();
    ++calls;
  });
  ASSERT_TRUE(queue.submit(silent).ok());
  ASSERT_TRUE(queue.submit(told).ok());
  silent->cancel();
  EXPECT_TRUE(is_over(*silent, 0)) << "nobody is to be told";
  told->cancel();
  EXPECT_TRUE(told->has_ended() && told->has_let_go());
  EXPECT_TRUE(is_over(*told));
  EXPECT_EQ(calls, 1);
  EXPECT_NE(caller, std::this_thread::get_id()) << "a thread of the queue calls";
  EXPECT_EQ(told->code(), TENON_CANCELLED);
  EXPECT_STREQ(told->error().message, "the Run was cancelled while it waited in the queue");
  EXPECT_FALSE(is_over(*blocker, 0));
  gate.open();
  EXPECT_TRUE(is_over(*blocker));
  EXPECT_EQ(blocker->code(), TENON_OK);
}

TEST(RunQueue, CancelEndsARunAtOnceWhileTheAttendantStarts) {
  for (int i = 0; i < 300; ++i) {
    RunQueue queue(1);
    Gate gate;
    const auto blocker = until(gate), waiting = work(nothing);
    ASSERT_TRUE(queue.submit(blocker).ok());
    ASSERT_TRUE(queue.submit(waiting).ok());
    std::this_thread::sleep_for(i * 1us);  // until the attendant looks at the Runs, or a little less or more
    waiting->cancel();
    EXPECT_TRUE(is_over(*waiting, 0)) << i;
    gate.open();
  }
}

TEST(RunQueue, CancelReachesARunThatIsUnderWay) {
  RunQueue queue(1);
  const auto run = until_cancelled();
  ASSERT_TRUE(queue.submit(run).ok());
  EXPECT_FALSE(is_over(*run, 20 * kMillisecond));
  run->cancel();
  EXPECT_TRUE(is_over(*run));
  EXPECT_STREQ(run->error().message, "seen by the work");
}

TEST(RunQueue, ADeadlineEndsARunInTheQueue) {
  RunQueue queue(1);
  Gate gate;
  const auto blocker = until(gate);
  ASSERT_TRUE(queue.submit(blocker).ok());
  const int64_t begin = steady_now_ns();
  const auto late = work(nothing, 30 * kMillisecond);
  ASSERT_TRUE(queue.submit(late).ok());
  EXPECT_TRUE(is_over(*late));
  EXPECT_GE(steady_now_ns() - begin, 30 * kMillisecond);
  EXPECT_EQ(late->code(), TENON_DEADLINE_EXCEEDED);
  EXPECT_THAT(late->error().message, HasSubstr("while it waited in the queue"));
  EXPECT_FALSE(is_over(*blocker, 0));
  gate.open();
}

TEST(RunQueue, TheTimeInTheQueueCounts) {
  RunQueue queue(1);
  Gate gate;
  ASSERT_TRUE(queue.submit(until(gate)).ok());
  int64_t left = 0;
  const auto run = work(
      [&](const uint32_t*, int64_t deadline_ns) {
        left = deadline_ns;
        return ok_status();
      },
      kLong);
  ASSERT_TRUE(queue.submit(run).ok());
  std::this_thread::sleep_for(30ms);
  gate.open();
  EXPECT_TRUE(is_over(*run));
  EXPECT_LE(left, kLong - 30 * kMillisecond);
  EXPECT_GT(left, kLong / 2);
}

TEST(RunQueue, AnotherWordCancelsTooAndIsKept) {
  RunQueue queue(1);
  Gate gate;
  ASSERT_TRUE(queue.submit(until(gate)).ok());
  auto word = std::make_shared<uint32_t>(0);
  const auto waiting = work(nothing, 0, word);
  ASSERT_TRUE(queue.submit(waiting).ok());
  EXPECT_FALSE(is_over(*waiting, 20 * kMillisecond));
  __atomic_store_n(word.get(), 1u, __ATOMIC_RELAXED);
  word.reset();
  EXPECT_TRUE(is_over(*waiting));
  EXPECT_EQ(waiting->code(), TENON_CANCELLED);
  gate.open();
}

TEST(RunQueue, WhatACallbackThrowsIsLogged) {
  std::mutex mutex;
  std::string log;
  set_log_sink([&](const LogLine& line) {
    const std::lock_guard lock(mutex);
    log += str_cat(line.code, ": ", line.message, "\n");
  });
  {
    RunQueue queue(1);
    const auto thrown = work(nothing), behind = work(nothing);
    thrown->set_callback([](QueuedRun&) { throw std::runtime_error("too hot"); });
    behind->set_callback([](QueuedRun&) { throw 3; });
    ASSERT_TRUE(queue.submit(thrown).ok());
    ASSERT_TRUE(queue.submit(behind).ok());
    EXPECT_TRUE(is_over(*thrown));
    EXPECT_TRUE(is_over(*behind));
  }
  set_log_sink({});
  EXPECT_THAT(log, HasSubstr("CALLBACK: the callback of a submitted Run threw: too hot\n"));
  EXPECT_THAT(log, HasSubstr("what is no std::exception\n"));
}

TEST(RunQueue, WorkThatThrowsFailsItsRun) {
  RunQueue queue(1);
  const auto run = work([](const uint32_t*, int64_t) -> Status { throw std::bad_alloc(); });
  ASSERT_TRUE(queue.submit(run).ok());
  EXPECT_TRUE(is_over(*run));
  EXPECT_EQ(run->code(), TENON_RESOURCE_EXHAUSTED);
  EXPECT_TRUE(run->has_let_go());
}

TEST(RunQueue, ItsEndStopsWhatIsThere) {
  RunQueue queue(1);
  const auto running = until_cancelled();
  std::atomic<int> calls{0};
  const auto waiting = work(nothing);
  waiting->set_callback([&](QueuedRun&) { ++calls; });
  ASSERT_TRUE(queue.submit(running).ok());
  EXPECT_FALSE(is_over(*running, 20 * kMillisecond));
  ASSERT_TRUE(queue.submit(waiting).ok());
  queue.end();
  EXPECT_TRUE(is_over(*running, 0));
  EXPECT_STREQ(running->error().message, "seen by the work");
  EXPECT_TRUE(is_over(*waiting, 0));
  EXPECT_STREQ(waiting->error().message, "the process ended before the Run began");
  EXPECT_EQ(calls, 0);
  const Status refused = queue.submit(work(nothing));
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.to_string(), HasSubstr("the process is ending"));
}

TEST(RunQueue, ItsEndDoesNotWaitForWhatHangs) {
  Gate begun, gate;
  RunQueue queue(1);
  const auto hangs = work([&](const uint32_t*, int64_t) {
    begun.open();
    gate.wait();
    return ok_status();
  });
  ASSERT_TRUE(queue.submit(hangs).ok());
  begun.wait();
  const int64_t begin = steady_now_ns();
  queue.end();
  EXPECT_LT(steady_now_ns() - begin, kLong / 6);
  EXPECT_FALSE(is_over(*hangs, 0));
  gate.open();
}

TEST(RunQueue, ACallbackMayEndTheQueue) {
  RunQueue queue(1);
  const auto run = work(nothing);
  run->set_callback([&](QueuedRun&) { queue.end(); });
  ASSERT_TRUE(queue.submit(run).ok());
  EXPECT_TRUE(is_over(*run));
}

TEST(RunQueue, ManyThreadsSubmitCancelAndWait) {
  RunQueue queue(3);
  std::atomic<int> called{0}, good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const auto run = work(nothing, i % 7 == 0 ? kMillisecond : 0);
        run->set_callback([&](QueuedRun&) { ++called; });
        if (!queue.submit(run).ok()) return;
        if ((i + t) % 3 == 0) run->cancel();
        if ((i + t) % 5 == 0) run->give_up();
        if (is_over(*run)) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(called, 4 * 300);
  EXPECT_EQ(good, 4 * 300);
}

}  // namespace
}  // namespace tenon::runtime
