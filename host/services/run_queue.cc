#include "host/services/run_queue.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "host/base/fork.h"
#include "host/base/log.h"
#include "host/services/cores.h"
#include "host/services/thread_pool.h"

namespace tenon::runtime {
namespace {

constexpr uint32_t kFewestRunners = 2, kMostRunners = 16;
constexpr int64_t kLookEvery = 1'000'000;             // ns, while a Run in the queue follows another word
constexpr int64_t kLongestSleep = 3'600'000'000'000;  // ns
constexpr auto kEndOfProcess = std::chrono::seconds(1);

// 1 + fork_count() on threads of a queue. A child that such a thread forks has a thread of its own.
thread_local uint32_t t_queue_of = 0;

bool is_on_queue() { return t_queue_of == 1 + fork_count(); }

std::chrono::steady_clock::time_point time_at(int64_t ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(ns));
}

void log_thrown(std::string_view what) noexcept {
  try {
    log_line(TENON_LOG_ERROR, "CALLBACK", str_cat("the callback of a submitted Run threw: ", what));
  } catch (const std::exception&) {  // no memory for the text
    log_line(TENON_LOG_ERROR, "CALLBACK", "the callback of a submitted Run threw an exception");
  }
}

}  // namespace

Status QueuedRun::set_stop(int64_t deadline_ns, std::shared_ptr<const uint32_t> cancel) {
  also_ = std::move(cancel);
  stop_.word = alarm_.word();
  stop_.deadline_ns = deadline_ns == 0 ? 0 : steady_after_ns(deadline_ns);
  return also_ == nullptr ? ok_status() : alarm_.set(INT64_MAX, also_.get());
}

void QueuedRun::set_state(State state) {
  state_.store(state, std::memory_order_release);
  changed_.notify_all();
}

bool QueuedRun::is_stopped() const {
  return __atomic_load_n(stop_.word, __ATOMIC_RELAXED) != 0 ||
         (stop_.deadline_ns != 0 && stop_.deadline_ns <= steady_now_ns());
}

/// Runs, unless the Run must not begin any more.
void QueuedRun::work() {
  code_ = guarded(&error_, [&]() -> Status {
    RETURN_IF_ERROR(stop_.check("it waited in the queue"));
    const int64_t left = std::max<int64_t>(stop_.deadline_ns - steady_now_ns(), 1);
    return run(stop_.word, stop_.deadline_ns == 0 ? 0 : left);
  });
  alarm_.clear();
  let_go();
}

void QueuedRun::call_back() {
  try {
    callback_(*this);
  } catch (const std::exception& thrown) {
    log_thrown(thrown.what());
  } catch (...) {
    log_thrown("what is no std::exception");
  }
}

void QueuedRun::cancel() {
  // The word is set under the lock: otherwise the attendant, which looks at it, may be ending the Run when this returns.
  Lock lock(queue_->mutex_);
  alarm_.ring();
  if (state_.load() == State::kWaiting && !queue_->ending_) queue_->perform(lock, *this, false);
}

void QueuedRun::give_up() {
  cancel();
  Lock lock(queue_->mutex_);
  changed_.wait(lock, [&] { return has_ended(); });
}

Result<bool> QueuedRun::wait(int64_t timeout_ns) {
  const auto over = [&] { return state_.load(std::memory_order_acquire) == State::kOver; };
  if (over() || timeout_ns == 0) return over();
  if (is_on_queue()) {
    return Status(StatusCode::kFailedPrecondition,
                  "a callback waits for a submitted Run, and would keep the thread that may have to run it; "
                  "wait on a thread of your own, or go on in the callback of that Run",
                  ErrorKind::kInvalidInput);
  }
  Lock lock(queue_->mutex_);
  if (timeout_ns < 0) {
    changed_.wait(lock, over);
    return true;
  }
  const int64_t end = steady_after_ns(timeout_ns);
  while (!over() && steady_now_ns() < end)
    changed_.wait_until(lock, time_at(std::min(end, steady_after_ns(kLongestSleep))));
  return over();
}

RunQueue::RunQueue(uint32_t runners) : limit_(std::max(runners, 1u)) { runners_.reserve(limit_); }

RunQueue::~RunQueue() {
  Lock lock(mutex_);
  close();
  gone_.wait(lock, [&] { return alive_ == 0; });
  join();
}

RunQueue& RunQueue::process() {
  static constinit PerProcess<RunQueue> queues;
  static const bool told = (at_end_of_process([] {
                              if (RunQueue* queue = queues.peek()) queue->end();
                            }),
                            true);
  static_cast<void>(told);
  return queues.get(std::clamp(usable_cores() / 2, kFewestRunners, kMostRunners));
}

Status RunQueue::submit(const std::shared_ptr<QueuedRun>& run) {
  Runs one{run};
  const Lock lock(mutex_);
  if (ending_) {
    return Status(StatusCode::kFailedPrecondition,
                  "the process is ending, and no submitted Run begins any more", ErrorKind::kInvalidInput);
  }
  RETURN_IF_ERROR(start_threads());
  run->queue_ = this;
  run->place_ = one.begin();
  run->set_state(QueuedRun::State::kWaiting);
  waiting_.splice(waiting_.end(), one);
  work_.notify_one();
  if (run->stop_.deadline_ns != 0 || run->also_ != nullptr) attend_.notify_one();
  return ok_status();
}

Status RunQueue::start_threads() {
  try {
    if (!attendant_.joinable()) {
      attendant_ = std::thread([this] { attend(); });
      ++alive_;
    }
    if (idle_ <= waiting_.size() && runners_.size() < limit_) {
      runners_.emplace_back([this] { work(); });
      ++alive_;
    }
  } catch (const std::exception&) {
    if (runners_.empty() || !attendant_.joinable())
      return out_of_memory(
          "cannot start the threads for submitted Runs; raise the system's limit of threads, or call run");
  }
  return ok_status();  // fewer threads than wished for are enough
}

void RunQueue::work() {
  name_this_thread("tenon-run");
  t_queue_of = 1 + fork_count();
  Lock lock(mutex_);
  for (;;) {
    ++idle_;
    work_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
    --idle_;
    if (ending_) break;
    perform(lock, *waiting_.front(), true);
  }
  --alive_;
  gone_.notify_all();
}

void RunQueue::attend() {
  name_this_thread("tenon-attend");
  t_queue_of = 1 + fork_count();
  Lock lock(mutex_);
  while (!ending_) {
    int64_t look_at = 0;
    if (!unheard_.empty()) {
      QueuedRun& run = *unheard_.front();
      taken_.splice(taken_.end(), unheard_, run.place_);
      finish(lock, run, true);
    } else if (QueuedRun* const stopped = find_stopped(&look_at); stopped != nullptr) {
      perform(lock, *stopped, true);
    } else {
      attend_.wait_until(lock, time_at(look_at));
    }
  }
  --alive_;
  gone_.notify_all();
}

/// A Run in the queue that must not begin any more; null when there is none until `look_at`.
QueuedRun* RunQueue::find_stopped(int64_t* look_at) const {
  *look_at = steady_after_ns(kLongestSleep);
  const int64_t look_soon = steady_after_ns(kLookEvery);
  for (const std::shared_ptr<QueuedRun>& run : waiting_) {
    if (run->is_stopped()) return run.get();
    if (run->stop_.deadline_ns != 0) *look_at = std::min(*look_at, run->stop_.deadline_ns);
    if (run->also_ != nullptr) *look_at = std::min(*look_at, look_soon);
  }
  return nullptr;
}

/// Takes a Run out of the queue, runs or ends it, and tells about it. Unlocks meanwhile.
void RunQueue::perform(Lock& lock, QueuedRun& run, bool on_queue) {
  taken_.splice(taken_.end(), waiting_, run.place_);
  run.set_state(QueuedRun::State::kTaken);
  lock.unlock();
  run.work();
  lock.lock();
  finish(lock, run, on_queue);
}

/// Calls the callback of a Run that has ended, or has the attendant call it, and drops the Run. Unlocks meanwhile.
void RunQueue::finish(Lock& lock, QueuedRun& run, bool on_queue) {
  const bool has_callback = run.callback_ != nullptr;
  if (has_callback && ending_) {  // stays in the list: what the callback would have freed stays reachable
    run.set_state(QueuedRun::State::kOver);
    return;
  }
  if (has_callback) {
    run.set_state(QueuedRun::State::kEnded);
    if (!on_queue) {
      unheard_.splice(unheard_.end(), taken_, run.place_);
      attend_.notify_one();
      return;
    }
    lock.unlock();
    run.call_back();
    lock.lock();
  }
  run.set_state(QueuedRun::State::kOver);
  Runs done;
  done.splice(done.begin(), taken_, run.place_);
  lock.unlock();
  done.clear();
  lock.lock();
}

void RunQueue::close() {
  ending_ = true;
  for (const std::shared_ptr<QueuedRun>& run : waiting_) {
    run->code_ = give_plain(StatusCode::kCancelled, ErrorKind::kCancelled,
                            "the process ended before the Run began", &run->error_);
    run->set_state(QueuedRun::State::kOver);
  }
  for (const std::shared_ptr<QueuedRun>& run : unheard_) run->set_state(QueuedRun::State::kOver);
  for (const std::shared_ptr<QueuedRun>& run : taken_) run->alarm_.ring();
  work_.notify_all();
  attend_.notify_all();
}

void RunQueue::end() {
  const uint32_t self = is_on_queue() ? 1 : 0;  // a callback may end the process
  Lock lock(mutex_);
  close();
  gone_.wait_for(lock, kEndOfProcess, [&] { return alive_ <= self; });
  if (alive_ == 0) join();  // a Run or callback that takes longer is left alone
}

/// The threads have done all they do under the lock.
void RunQueue::join() {
  for (std::thread& runner : runners_) runner.join();
  if (attendant_.joinable()) attendant_.join();
  runners_.clear();
}

}  // namespace tenon::runtime
