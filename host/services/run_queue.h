// Runs that applications submit: one queue per process, and the threads that run what is in it.
//
// Runs begin in the order in which they were submitted. One more thread, the attendant, ends Runs that are cancelled or
// out of time before they begin, so that they do not wait for a long Run in front of them. Threads start when they are
// needed: one runner for each two cores, at least 2 and at most 16. More would only share the same cores; two let the
// host prepare one Run while a device computes another.
//
// When the process ends, Runs in the queue are over without a callback, and those under way are cancelled and waited
// for, for at most a second. A child of fork gets a queue of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/result.h"
#include "core/base/stop.h"
#include "host/base/error_struct.h"
#include "host/services/alarm.h"

namespace tenon::runtime {

class RunQueue;

/// One Run for the queue. Thread-safe after RunQueue::submit(). Derived classes say what it does.
class QueuedRun {
 public:
  using Callback = std::function<void(QueuedRun& run)>;

  virtual ~QueuedRun() = default;
  QueuedRun(const QueuedRun&) = delete;
  QueuedRun& operator=(const QueuedRun&) = delete;

  /// Before submit(): the deadline, which counts from now (0: none), and another word that cancels the Run, or null.
  Status set_stop(int64_t deadline_ns, std::shared_ptr<const uint32_t> cancel);
  /// Before submit(): called once on a thread of the queue after the Run has ended. An exception is logged.
  void set_callback(Callback callback) { callback_ = std::move(callback); }

  /// Ends the Run at once when it has not begun; otherwise it ends when its work looks at its cancel word.
  void cancel();
  /// True when the Run is over: it has ended and its callback has returned. Waits for that at most `timeout_ns` (negative:
  /// without limit). FAILED_PRECONDITION on a thread of the queue, which would wait for itself; a timeout of 0 only looks.
  Result<bool> wait(int64_t timeout_ns);
  /// The Run uses nothing of its arguments any more; code() and error() are set.
  bool has_ended() const { return state_.load(std::memory_order_acquire) >= State::kEnded; }
  /// Cancels, and waits until the Run has ended.
  void give_up();

  tenon_status code() const { return code_; }
  const tenon_error& error() const { return error_; }

 protected:
  QueuedRun() = default;
  /// The work. `cancel`: not 0 stops it. `deadline_ns`: from now; 0: none.
  virtual Status run(const uint32_t* cancel, int64_t deadline_ns) = 0;
  /// Lets go of everything but the results. Called once when the work has ended or will not begin.
  virtual void let_go() = 0;

 private:
  friend class RunQueue;
  using Runs = std::list<std::shared_ptr<QueuedRun>>;
  using Lock = std::unique_lock<std::mutex>;
  enum class State : uint32_t { kNew, kWaiting, kTaken, kEnded, kOver };

  bool is_stopped() const;
  void work();
  void call_back();
  void set_state(State state);

  RunQueue* queue_ = nullptr;
  Callback callback_;
  Stop stop_;
  Alarm alarm_;  // its word cancels the Run
  std::shared_ptr<const uint32_t> also_;
  std::atomic<State> state_{State::kNew};  // written under the queue's mutex
  std::condition_variable changed_;        // of state_, with the queue's mutex
  Runs::iterator place_;                   // in a list of the queue
  tenon_status code_ = TENON_OK;
  tenon_error error_ = make_error();
};

class RunQueue {
 public:
  /// `runners`: the most Runs that are under way at once.
  explicit RunQueue(uint32_t runners);
  /// As end(), but waits for the threads without a limit. Not on a thread of the queue.
  ~RunQueue();
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  /// The process's queue. It ends with the process and is never destroyed.
  static RunQueue& process();

  /// RESOURCE_EXHAUSTED when the system gives no thread, FAILED_PRECONDITION when the process is ending.
  Status submit(const std::shared_ptr<QueuedRun>& run);
  /// At the end of the process: see above. Later submissions are refused.
  void end();

 private:
  friend class QueuedRun;
  using Runs = QueuedRun::Runs;
  using Lock = QueuedRun::Lock;

  Status start_threads();
  void close();
  void join();
  void work();
  void attend();
  void perform(Lock& lock, QueuedRun& run, bool on_queue);
  void finish(Lock& lock, QueuedRun& run, bool on_queue);
  QueuedRun* find_stopped(int64_t* look_at) const;

  const uint32_t limit_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable work_, attend_, gone_;
  Runs waiting_;  // not begun
  Runs taken_;    // under way, or being ended
  Runs unheard_;  // ended; the attendant calls their callbacks
  std::vector<std::thread> runners_;
  std::thread attendant_;
  uint32_t idle_ = 0;   // runners that wait for work
  uint32_t alive_ = 0;  // threads that have not left their function
  bool ending_ = false;
};

}  // namespace tenon::runtime
