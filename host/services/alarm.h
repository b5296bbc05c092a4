// A word for providers that becomes 1 when a deadline passes, or soon after another word is set: a kernel that looks at
// nothing but its `cancel` word then obeys both.
//
// One thread of the process watches all alarms that are set. It is started by the first one, and sleeps until the next
// deadline; while an alarm has another word to follow it looks every millisecond.
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

  /// The word is 0 until `deadline_ns` on the steady clock, or until `also` (which may be null, and is read atomically
  /// until clear()) is not zero. An earlier setting is void. RESOURCE_EXHAUSTED when the system has no thread for it.
  Status set(int64_t deadline_ns, const uint32_t* also);
  /// Afterwards the word stays as it is. Nothing to do when it was not set.
  void clear();
  const uint32_t* word() const { return &word_; }

 private:
  friend class AlarmClock;
  uint32_t word_ = 0;
  const uint32_t* also_ = nullptr;
  int64_t deadline_ns_ = 0;
  AlarmClock* clock_ = nullptr;  // that watches it
  Alarm *before_ = nullptr, *behind_ = nullptr;
};

}  // namespace tenon::runtime
