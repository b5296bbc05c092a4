// Recovery from a failure of an instance, as `provider.<id>.on_lost` of the config says:
//
//   next     The session drops the instance (or all instances of the provider, when the whole process lost it),
//            compiles the model for the others, and repeats the Run.
//   restart  The session makes the instance again, on a newly opened device if the device was lost, and repeats the
//            Run. At most once per Run and instance. Not possible when only a new process would help.
//   fail     The Run returns the error.
//
// An instance with work that a stopped Run left under way counts as lost at the next Run (host/exec/set_aside.h).
//
// A failure that another provider would have, too (a wrong input, a cancelled Run), is returned at once. So is a lack
// of memory during a Run, because the instance can still run smaller shapes; while a session is made it is a failure.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "host/session/assembly.h"

namespace tenon::runtime {
class Trace;
}

namespace tenon::session {

enum class When { kLoading, kRunning };

/// The recoveries that one Run has tried so far.
struct Attempts {
  std::set<std::string, std::less<>> restarted;  // ids of instances
};

/// Holds the current assembly and replaces it after a failure. Thread-safe.
class Recovery {
 public:
  explicit Recovery(Assembler assembler) : assembler_(std::move(assembler)) {}

  Status start(runtime::Selection selection, const Assembler::Progress& progress);
  std::shared_ptr<const Assembly> current() const;
  /// True while current() gives `assembly`, of which the caller has a count. Takes no lock.
  bool is_current(const Assembly* assembly) const {
    return address_.load(std::memory_order_acquire) == assembly;
  }
  /// After a Run on `failed` ended with `failure`. OK: the caller repeats it on current(). Else the error to return:
  /// `failure`, with the reason why recovery was not possible. `trace` may be null.
  Status recover(const std::shared_ptr<const Assembly>& failed, Status failure, Attempts* attempts,
                 runtime::Trace* trace, When when);

 private:
  struct Loss;
  Result<runtime::Selection> restarted(const runtime::Selection& old, const Loss& loss) const;
  Result<runtime::Selection> without(const runtime::Selection& old, const Loss& loss) const;
  void replace(std::shared_ptr<const Assembly> made);

  const Assembler assembler_;
  std::mutex rebuild_mutex_;
  mutable std::mutex current_mutex_;  // taken after rebuild_mutex_, never held for long
  std::shared_ptr<const Assembly> current_;
  std::atomic<const Assembly*> address_{nullptr};  // of current_
};

}  // namespace tenon::session
