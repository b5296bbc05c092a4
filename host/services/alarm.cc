#include "host/services/alarm.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/stop.h"
#include "host/services/cores.h"

namespace tenon::runtime {
namespace {

constexpr int64_t kLookEvery = 1'000'000;             // ns, while an alarm follows another word
constexpr int64_t kLongestSleep = 3'600'000'000'000;  // ns

}  // namespace

/// The thread and the alarms that it watches. A child of fork leaves its parent's clock alone: the thread does not
/// exist in the child, and the mutex may stay locked.
class AlarmClock {
 public:
  static AlarmClock& of_process() {
    static std::atomic<AlarmClock*> current{nullptr};
    // Ends the thread when the library is unmapped, because its code goes too. The clock is never destroyed:
    // threads of the application may still run a session.
    struct EndOfLibrary {
      ~EndOfLibrary() {
        AlarmClock* last = current.load();
        if (last != nullptr && last->is_own()) last->stop();
      }
    };
    static EndOfLibrary end;
    AlarmClock* clock = current.load(std::memory_order_acquire);
    if (clock != nullptr && clock->is_own()) return *clock;
    auto* made = new AlarmClock;
    if (current.compare_exchange_strong(clock, made)) return *made;
    delete made;
    return *clock;
  }

  bool is_own() const { return process_id_ == current_process_id(); }

  Status add(Alarm* alarm) {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable() && !stopping_) {
      try {
        thread_ = std::thread([this] { watch(); });
      } catch (const std::system_error&) {
        return Status(
            StatusCode::kResourceExhausted,
            "cannot start the thread that watches deadlines; raise the system's limit of threads, or "
            "run without a deadline",
            ErrorKind::kOutOfMemory);
      }
    }
    alarm->before_ = nullptr;
    alarm->behind_ = first_;
    if (first_ != nullptr) first_->before_ = alarm;
    first_ = alarm;
    followers_ += alarm->also_ != nullptr ? 1 : 0;
    const int64_t look_at = alarm->also_ != nullptr ? steady_after_ns(kLookEvery) : alarm->deadline_ns_;
    if (look_at < wake_at_) changed_.notify_one();
    return ok_status();
  }

  void remove(Alarm* alarm) {
    const std::lock_guard lock(mutex_);
    (alarm->before_ != nullptr ? alarm->before_->behind_ : first_) = alarm->behind_;
    if (alarm->behind_ != nullptr) alarm->behind_->before_ = alarm->before_;
    followers_ -= alarm->also_ != nullptr ? 1 : 0;
  }

 private:
  AlarmClock() : process_id_(current_process_id()) {}

  void watch() {
    name_this_thread("tenon-alarm");
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      wake_at_ = ring();
      const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(wake_at_)};
      changed_.wait_until(lock, until);
    }
  }

  /// Sets the words of the alarms that are due. Returns the time to look again.
  int64_t ring() {
    const int64_t now = steady_now_ns();
    int64_t next = now + (followers_ != 0 ? kLookEvery : kLongestSleep);
    for (Alarm* alarm = first_; alarm != nullptr; alarm = alarm->behind_) {
      const bool told = alarm->also_ != nullptr && __atomic_load_n(alarm->also_, __ATOMIC_RELAXED) != 0;
      if (told || alarm->deadline_ns_ <= now) {
        __atomic_store_n(&alarm->word_, 1u, __ATOMIC_RELAXED);
      } else {
        next = std::min(next, alarm->deadline_ns_);
      }
    }
    return next;
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

  const int64_t process_id_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
  Alarm* first_ = nullptr;
  int followers_ = 0;  // alarms that follow another word
  int64_t wake_at_ = INT64_MAX;
  bool stopping_ = false;
};

Status Alarm::set(int64_t deadline_ns, const uint32_t* also) {
  clear();
  __atomic_store_n(&word_, 0u, __ATOMIC_RELAXED);
  deadline_ns_ = deadline_ns;
  also_ = also;
  AlarmClock& clock = AlarmClock::of_process();
  RETURN_IF_ERROR(clock.add(this));
  clock_ = &clock;
  const bool told = also != nullptr && __atomic_load_n(also, __ATOMIC_RELAXED) != 0;
  if (told || deadline_ns <= steady_now_ns()) __atomic_store_n(&word_, 1u, __ATOMIC_RELAXED);
  return ok_status();
}

void Alarm::leave() {
  AlarmClock* clock = std::exchange(clock_, nullptr);
  if (clock->is_own()) clock->remove(this);
}

}  // namespace tenon::runtime
