// A cancel word that becomes 1 when a deadline passes, or soon after another word is set. A kernel that checks
// only its `cancel` word then obeys both.
//
// One thread of the process watches all alarms. It starts with the first alarm and sleeps until the next deadline.
// While an alarm follows another word, the thread looks every millisecond.
#pragma once

#include <cstdint>

#include "core/base/result.h"

namespace tenon::runtime {

class AlarmClock;

class Alarm {
 public:
  Alarm() = default;
  ~Alarm() { clear(); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  /// The word is 0 until `deadline_ns` on the steady clock, or until `also` is not zero. `also` may be null; it is read
  /// atomically until clear(). Replaces an earlier setting. RESOURCE_EXHAUSTED when the system gives no thread.
  Status set(int64_t deadline_ns, const uint32_t* also);
  /// Stops the alarm; the word keeps its value. Does nothing when no alarm is set.
  void clear() {
    if (clock_ != nullptr) leave();
  }
  const uint32_t* word() const { return &word_; }
  /// Sets the word at once, also when no alarm is set. Thread-safe.
  void ring() { __atomic_store_n(&word_, 1u, __ATOMIC_RELAXED); }

 private:
  friend class AlarmClock;
  void leave();

  uint32_t word_ = 0;
  const uint32_t* also_ = nullptr;
  int64_t deadline_ns_ = 0;
  AlarmClock* clock_ = nullptr;  // the clock that watches this alarm
  Alarm *before_ = nullptr, *behind_ = nullptr;
};

}  // namespace tenon::runtime
