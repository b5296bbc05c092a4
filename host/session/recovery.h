// What follows when a Run fails because of an instance: `provider.<id>.on_lost` of the config.
//
//   next     the instance leaves the session (all of its provider's do when the whole process lost it), the
//            model is given to the others, and the Run is repeated
//   restart  the instance is made again, on a device opened anew if it was lost, and the Run is repeated,
//            once per Run; impossible when only a new process would help
//   fail     the error is the Run's
//
// Failures that another provider would have too (a wrong input, a cancelled Run) are errors at once. So is a Run without
// memory: the session keeps the instance, which serves smaller shapes. While a session is made it counts as a failure.
#pragma once

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

/// What one Run has tried so far.
struct Attempts {
  std::set<std::string, std::less<>> restarted;  // instances
};

/// The assembly in force, and the way to the next one. Thread-safe.
class Recovery {
 public:
  explicit Recovery(Assembler assembler) : assembler_(std::move(assembler)) {}

  Status start(runtime::Selection selection, const Assembler::Progress& progress);
  std::shared_ptr<const Assembly> current() const;
  /// After `failure` of a Run on `failed`. OK: repeat it on current(). Else the error for the caller, which
  /// is `failure` unless there is more to say. `trace` may be null.
  Status recover(const std::shared_ptr<const Assembly>& failed, Status failure, Attempts* attempts,
                 runtime::Trace* trace, When when);

 private:
  struct Loss;
  Result<runtime::Selection> restarted(const runtime::Selection& old, const Loss& loss) const;
  Result<runtime::Selection> without(const runtime::Selection& old, const Loss& loss) const;

  const Assembler assembler_;
  std::mutex rebuild_mutex_;
  mutable std::mutex current_mutex_;  // taken after rebuild_mutex_, never held for long
  std::shared_ptr<const Assembly> current_;
};

}  // namespace tenon::session
